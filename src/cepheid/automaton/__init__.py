"""The readable compiled form of rules: automata, their drawings, and the plan."""

from cepheid.automaton.compile import compile_rule
from cepheid.automaton.dot import draw_dot
from cepheid.automaton.mermaid import draw_mermaid
from cepheid.automaton.model import Automaton
from cepheid.automaton.plan import Plan, explained, plan_of
from cepheid.automaton.svg import draw_svg
from cepheid.automaton.text import draw_text

__all__ = [
    "Automaton",
    "Plan",
    "compile_rule",
    "draw_dot",
    "draw_mermaid",
    "draw_svg",
    "draw_text",
    "explained",
    "plan_of",
]
