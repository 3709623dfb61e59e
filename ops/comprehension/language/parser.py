"""Parses tokens to syntax trees, by recursive descent; the grammar is in `docs/comprehension.md` and at each method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..expr.dtypes import INT64, SCALARS
from ..expr.errors import ComprehensionSyntaxError
from .lexer import KEYWORDS, Token, tokens
from .syntax import (
    Apply,
    DefSyntax,
    ExistsClause,
    LetClause,
    Name,
    Node,
    Number,
    Operator,
    RangeClause,
    SizeOf,
    StatementSyntax,
    TensorDecl,
)

DEEPEST = 128
"""Levels of an expression: each term of a sum or product is one, and what stands inside of something `NESTED`."""
NESTED = 3

# From the loosest to the tightest; `?:` is looser and unary operators are tighter than all of these.
_BINARY: tuple[frozenset[str], ...] = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"<", ">", "<=", ">=", "==", "!="}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)


def parse(text: str) -> list[DefSyntax]:
    """Parses every definition of a text.

    Raises:
        ComprehensionSyntaxError: the text does not follow the grammar.

    Example:
        >>> parse("def id(float(N) A) -> (B) { B(i) = A(i) }")[0].name
        'id'
    """
    parser = _Parser(tokens(text))
    definitions = [parser.definition()]
    while not parser.at_end():
        definitions.append(parser.definition())
    return definitions


class _Parser:
    """A cursor over tokens with one method for each rule of the grammar."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0

    # -- the cursor ------------------------------------------------------------------------------------

    def at_end(self) -> bool:
        """Whether only the end is left."""
        return self._now.kind == "end"

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _advance(self) -> Token:
        token = self._now
        self._at += 1
        return token

    def _fail(self, expected: str) -> ComprehensionSyntaxError:
        return ComprehensionSyntaxError(f"expected {expected} but found {self._now}", at=self._now.place)

    def _accept(self, text: str) -> bool:
        if self._now.text != text or self._now.kind == "end":
            return False
        self._at += 1
        return True

    def _expect(self, text: str) -> Token:
        if self._now.text != text:
            raise self._fail(f"'{text}'")
        return self._advance()

    def _identifier(self) -> Token:
        token = self._now
        if token.kind != "id" or token.text in KEYWORDS or token.text in SCALARS:
            raise self._fail("an identifier")
        return self._advance()

    # -- definitions -----------------------------------------------------------------------------------

    def definition(self) -> DefSyntax:
        """Def := 'def' id '(' [param,*] ')' '->' '(' [ret,*] ')' '{' stmt* '}'."""
        place = self._expect("def").place
        name = self._identifier().text
        self._expect("(")
        params = self._list(self._param)
        self._expect("->")
        self._expect("(")
        returns = self._list(self._return)
        self._expect("{")
        body = []
        while not self._accept("}"):
            body.append(self._statement())
        return DefSyntax(place, name, tuple(params), tuple(returns), tuple(body))

    def _list(self, item) -> list:  # type: ignore[no-untyped-def, type-arg]  # generic over what it is given
        """Items between commas up to the closing parenthesis, which is consumed."""
        if self._accept(")"):
            return []
        items = [item()]
        while self._accept(","):
            items.append(item())
        self._expect(")")
        return items

    def _param(self) -> TensorDecl:
        """Param := scalar ['(' (id|int),* ')'] id."""
        if self._now.text not in SCALARS:
            raise self._fail("a type")
        scalar = self._advance().text
        dims = tuple(self._list(self._dim)) if self._accept("(") else ()
        token = self._identifier()
        return TensorDecl(token.place, token.text, scalar, dims)

    def _return(self) -> TensorDecl:
        """Ret := id | type id."""
        if self._now.text in SCALARS:
            scalar = self._advance().text
            dims = tuple(self._list(self._dim)) if self._accept("(") else None
            token = self._identifier()
            return TensorDecl(token.place, token.text, scalar, dims)
        before, token = self._at, self._identifier()
        if self._now.kind == "id" or self._now.text == "(":  # the name comes after: this was to be a type
            self._at = before
            raise self._fail("a type")
        return TensorDecl(token.place, token.text, None, None)

    def _dim(self) -> str | int:
        if self._now.kind == "int":
            return self._whole_number()
        return self._identifier().text

    def _whole_number(self) -> int:
        """A literal without a point; it is an int32 or an int64."""
        token = self._advance()
        digits = token.text.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) > INT64.span[1]:
            raise ComprehensionSyntaxError("the number does not fit into an int64", at=token.place)
        return int(digits)

    # -- statements ------------------------------------------------------------------------------------

    def _statement(self) -> StatementSyntax:
        """Stmt := id ['(' id,* ')'] op exp ['where' w,+]."""
        target = self._identifier()
        indices = self._list(self._index) if self._accept("(") else []
        op = self._now
        if op.kind != "assign" and op.text != "=":
            raise self._fail("an assignment such as '=' or '+=!'")
        self._advance()
        value = self._expression()
        clauses = []
        if self._accept("where"):
            clauses = [self._clause()]
            while self._accept(","):
                clauses.append(self._clause())
        self._accept(";")
        return StatementSyntax(target.place, target.text, tuple(indices), op.text, value, tuple(clauses))

    def _index(self) -> Name:
        token = self._identifier()
        return Name(token.place, token.text)

    def _clause(self) -> Node:
        """W := id 'in' exp ':' exp | id '=' exp | 'exists' exp."""
        place = self._now.place
        if self._accept("exists"):
            return ExistsClause(place, self._expression())
        name = self._identifier().text
        if self._accept("="):
            return LetClause(place, name, self._expression())
        if not self._accept("in"):
            raise self._fail("'in' or '='")
        low = self._expression()
        self._expect(":")
        return RangeClause(place, name, low, self._expression())

    # -- expressions -----------------------------------------------------------------------------------

    def _expression(self) -> Node:
        with self._deeper(self._now):
            condition = self._binary(0)
            place = self._now.place
            if not self._accept("?"):
                return condition
            then = self._expression()
            self._expect(":")
            return Operator(place, "?:", (condition, then, self._expression()))

    @contextmanager
    def _deeper(self, token: Token) -> Iterator[None]:
        self._enter(token, NESTED)
        yield
        self._depth -= NESTED

    def _enter(self, token: Token, levels: int = 1) -> None:
        """Some levels further inside; they are bounded, as every pass over an expression goes down them."""
        self._depth += levels
        if self._depth > DEEPEST:
            raise ComprehensionSyntaxError(f"the expression is nested deeper than {DEEPEST}", at=token.place)

    def _binary(self, level: int) -> Node:
        if level == len(_BINARY):
            return self._unary()
        left, before = self._binary(level + 1), self._depth
        while self._now.kind == "mark" and self._now.text in _BINARY[level]:
            op = self._advance()
            self._enter(op)
            left = Operator(op.place, op.text, (left, self._binary(level + 1)))
        self._depth = before
        return left

    def _unary(self) -> Node:
        token = self._now
        if token.kind == "mark" and token.text in ("-", "!"):
            self._advance()
            with self._deeper(token):
                return Operator(token.place, "neg" if token.text == "-" else "!", (self._unary(),))
        return self._primary()

    def _primary(self) -> Node:
        token = self._now
        if token.kind == "int":
            return Number(token.place, self._whole_number())
        if token.kind == "real":
            return Number(self._advance().place, float(token.text))
        if self._accept("("):
            inner = self._expression()
            self._expect(")")
            return inner
        if token.kind != "id" or (token.text in KEYWORDS and token.text not in ("min", "max")):
            raise self._fail("an expression")
        self._advance()
        return self._named(token)

    def _named(self, token: Token) -> Node:
        """What can follow an identifier: a dimension's number, arguments, or nothing."""
        if self._accept("("):
            return Apply(token.place, token.text, tuple(self._list(self._expression)))
        if token.text in SCALARS or token.text in KEYWORDS:
            raise self._fail("'('")
        if self._accept("."):
            if self._now.kind != "int":
                raise self._fail("a dimension's number")
            return SizeOf(token.place, token.text, self._whole_number())
        return Name(token.place, token.text)
