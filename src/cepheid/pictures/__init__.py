"""Pictures: rules, and what they found in events, for people to look at.

A `Picture` is an SVG, a `Page` one HTML file that needs nothing else. Both show themselves in
notebooks. What is drawn of many events is a sample; what is counted never is.
"""

from cepheid.pictures.matches import Matches
from cepheid.pictures.picture import Page, Picture

__all__ = ["Matches", "Page", "Picture"]
