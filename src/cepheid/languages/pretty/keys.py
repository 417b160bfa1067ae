"""The pretty language's `on`: attributes that are the same in all events of a match."""

from __future__ import annotations

from dataclasses import dataclass, field

from lark import Token

from cepheid.algebra import Equivalence, Key, Literal
from cepheid.events import Value
from cepheid.languages.lowering import Branch, ParseTree, parts, string_value
from cepheid.languages.pretty.terms import word
from cepheid.languages.pretty.trees import TreeLowering


@dataclass
class KeyLowering(TreeLowering):
    """Lowers the clauses `on same …` and `on … = …`."""

    clauses: dict[str, list[ParseTree]] = field(default_factory=dict)
    """The clauses of the rule by their form."""

    # --- trees ---------------------------------------------------------------

    def equivalences(self) -> tuple[Equivalence, ...]:
        found: list[Equivalence] = []
        for clause in self._in_order("same", "keyed"):
            if clause.data == "same":
                found += [
                    Equivalence(word(name), span=self.span(name)) for name in self.names(clause)
                ]
            else:
                found += self._equivalence(clause)
        return tuple(found)

    def _equivalence(self, clause: ParseTree) -> list[Equivalence]:
        members = parts(clause)[::2]
        name = self._plain_name(members[0])
        if name is None or len(members) != 2 or _form(members[1]) in ("key", "word"):
            self.error(
                "WRONG_STRUCTURE",
                f"on in rule {self.rule} must give an attribute of all events a value",
                clause,
                expected='on area = "A1", or on same area',
                hint="two events are related by provided: provided area of Smoke = zone of Temp",
            )
            return []
        return [Equivalence(name, self._fixed(members[1]), span=self.span(clause))]

    def _plain_name(self, member: Branch) -> str | None:
        if isinstance(member, Token):
            return string_value(member) if member.type == "STRING" else None
        return str(parts(member)[0]) if member.data == "word" else None

    def names(self, clause: ParseTree) -> list[Token]:
        return [name for name in parts(clause) if name.type in ("NAME", "STRING")]

    def _in_order(self, *forms: str) -> list[ParseTree]:
        found = [clause for form in forms for clause in self.clauses.get(form, [])]
        return sorted(found, key=lambda clause: clause.meta.start_pos)

    def _fixed(self, member: Branch) -> Value | None:
        literal = self.expression(member)
        return literal.value if isinstance(literal, Literal) else None

    # --- partitions ----------------------------------------------------------

    def keys(self, types: tuple[str, ...]) -> tuple[Key, ...]:
        """The partition of a run or a collection, given the types that it looks at."""
        found: list[Key] = []
        for clause in self._in_order("same", "keyed"):
            if clause.data == "same":
                found += [
                    Key(tuple((type_, word(name)) for type_ in types), span=self.span(name))
                    for name in self.names(clause)
                ]
            else:
                found.append(self._key(clause, types))
        return tuple(found)

    def _key(self, clause: ParseTree, types: tuple[str, ...]) -> Key:
        members = parts(clause)[::2]
        keys = [parts(member) for member in members if _form(member) == "key"]
        name = self._plain_name(members[0])
        related = [(word(type_), word(attribute)) for attribute, _, type_ in keys]
        rest = members[len(keys) :]
        if not keys and name is not None:
            related, rest = [(type_, name) for type_ in types], members[1:]
        if not related or len(rest) > 1 or any(_form(member) in ("key", "word") for member in rest):
            self.error(
                "WRONG_STRUCTURE",
                f"on in rule {self.rule} must relate attributes to each other or to one value",
                clause,
                expected='on same source, on source of A = host of B, or on source = "S1"',
            )
            return Key(tuple(related))
        value = self._fixed(rest[0]) if rest else None
        return Key(tuple(related), value, span=self.span(clause))


def _form(member: Branch) -> str:
    return member.type if isinstance(member, Token) else str(member.data)
