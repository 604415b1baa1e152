"""A small CEL evaluator, independent of the engine: its results are compared with the engine's.

Only what definitions use: literals, members, indexing, operators, the macros, size, contains,
startsWith, endsWith, matches. Anything else raises Unreadable, and the caller skips the check.
"""
import re

TOKEN = re.compile(r"""\s*(?:
    (?P<number>\d+\.\d+(?:[eE][-+]?\d+)?|\d+)|
    (?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|
    (?P<name>[A-Za-z_]\w*)|
    (?P<op>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
)""", re.X)
RELATIONS = {"==", "!=", "<", "<=", ">", ">=", "in"}


class Unreadable(Exception):
    """Not the part of CEL that is read here."""


class CelError(Exception):
    """An error of evaluation, such as a member that is not there."""


def evaluate(text, names):
    text = text.strip()
    if text.startswith("${{") and text.endswith("}}"):
        text = text[3:-2]
    return Reader(tokens(text)).whole()(names)


def tokens(text):
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise Unreadable(text[at:at + 20])
        found.append((match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    return found + [("end", "")]


def member(value, key):
    if isinstance(value, dict) and key in value:
        return value[key]
    if isinstance(value, list) and isinstance(key, (int, float)) and 0 <= key < len(value):
        return value[int(key)]
    raise CelError(f"no such key: {key}")


def same(a, b):
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    return a == b


class Reader:
    """Recursive descent; every rule gives a function of the names."""

    def __init__(self, found):
        self._tokens, self._at = found, 0

    def _peek(self):
        return self._tokens[self._at][1] if self._tokens[self._at][0] != "text" else None

    def _take(self, wanted=None):
        kind, value = self._tokens[self._at]
        if wanted is not None and (kind == "text" or value != wanted):
            raise Unreadable(f"{value!r} where {wanted!r} should be")
        self._at += 1
        return kind, value

    def whole(self):
        rule = self._choice()
        if self._tokens[self._at][0] != "end":
            raise Unreadable(self._tokens[self._at][1])
        return rule

    def _choice(self):
        test = self._any()
        if self._peek() != "?":
            return test
        self._take("?")
        yes = self._any()
        self._take(":")
        no = self._choice()
        return lambda names: yes(names) if test(names) else no(names)

    def _any(self):
        return self._absorbing(self._all, "||", True)

    def _all(self):
        return self._absorbing(self._relation, "&&", False)

    def _absorbing(self, inner, sign, winner):
        """|| and &&: one side that decides hides an error of the other."""
        parts = [inner()]
        while self._peek() == sign:
            self._take()
            parts.append(inner())
        if len(parts) == 1:
            return parts[0]

        def run(names):
            failure = None
            for part in parts:
                try:
                    if part(names) is winner:
                        return winner
                except CelError as error:
                    failure = error
            if failure is not None:
                raise failure
            return not winner
        return run

    def _relation(self):
        left = self._sum()
        while self._peek() in RELATIONS:
            _, sign = self._take()
            left = self._compared(left, sign, self._sum())
        return left

    @staticmethod
    def _compared(left, sign, right):
        def run(names):
            a, b = left(names), right(names)
            if sign == "==":
                return same(a, b)
            if sign == "!=":
                return not same(a, b)
            if sign == "in":
                return any(same(a, each) for each in b)
            try:
                return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign]
            except TypeError as error:
                raise CelError(str(error)) from None
        return run

    def _sum(self):
        return self._folded(self._product, {"+", "-"})

    def _product(self):
        return self._folded(self._unary, {"*", "/", "%"})

    def _folded(self, inner, signs):
        left = inner()
        while self._peek() in signs:
            _, sign = self._take()
            left = self._calculated(left, sign, inner())
        return left

    @staticmethod
    def _calculated(left, sign, right):
        def run(names):
            a, b = left(names), right(names)
            try:
                if sign == "/" and isinstance(a, int) and isinstance(b, int):
                    return int(a / b)
                return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b,
                        "/": lambda: a / b, "%": lambda: a % b}[sign]()
            except (TypeError, ZeroDivisionError) as error:
                raise CelError(str(error)) from None
        return run

    def _unary(self):
        if self._peek() == "!":
            self._take()
            inner = self._unary()
            return lambda names: not inner(names)
        if self._peek() == "-":
            self._take()
            inner = self._unary()
            return lambda names: -inner(names)
        return self._postfix()

    def _postfix(self):
        left = self._primary()
        while self._peek() in {".", "["}:
            if self._take()[1] == "[":
                key = self._choice()
                self._take("]")
                left = (lambda base, index: lambda names: member(base(names), index(names)))(left, key)
                continue
            kind, name = self._take()
            if kind != "name":
                raise Unreadable(name)
            if self._peek() == "(":
                left = self._method(left, name)
            else:
                left = (lambda base, key: lambda names: member(base(names), key))(left, name)
        return left

    def _arguments(self):
        self._take("(")
        found = []
        while self._peek() != ")":
            found.append(self._choice())
            if self._peek() == ",":
                self._take()
        self._take(")")
        return found

    def _method(self, base, name):
        if name in {"exists", "all", "filter", "map"}:
            self._take("(")
            _, variable = self._take()
            self._take(",")
            body = self._choice()
            self._take(")")

            def fold(names):
                given = base(names)
                results = [(each, body({**names, variable: each})) for each in given]
                return {"exists": lambda: any(r is True for _, r in results),
                        "all": lambda: all(r is True for _, r in results),
                        "filter": lambda: [e for e, r in results if r is True],
                        "map": lambda: [r for _, r in results]}[name]()
            return fold
        given = self._arguments()
        methods = {"contains": lambda s, x: x in s, "startsWith": lambda s, x: s.startswith(x),
                   "endsWith": lambda s, x: s.endswith(x), "size": lambda s: len(s),
                   "matches": lambda s, x: re.search(x, s) is not None}
        if name not in methods:
            raise Unreadable(name)
        return lambda names: methods[name](base(names), *(each(names) for each in given))

    def _primary(self):
        kind, value = self._take()
        if kind == "number":
            number = float(value) if "." in value or "e" in value.lower() else int(value)
            return lambda names: number
        if kind == "text":
            plain = value[1:-1].encode().decode("unicode_escape")
            return lambda names: plain
        if value == "(":
            inner = self._choice()
            self._take(")")
            return inner
        if value == "[":
            items = []
            while self._peek() != "]":
                items.append(self._choice())
                if self._peek() == ",":
                    self._take()
            self._take("]")
            return lambda names: [each(names) for each in items]
        if kind != "name":
            raise Unreadable(value)
        if value in {"true", "false", "null"}:
            constant = {"true": True, "false": False, "null": None}[value]
            return lambda names: constant
        if self._peek() == "(":
            return self._function(value)
        return lambda names: member(names, value)

    def _function(self, name):
        given = self._arguments()
        if name == "size":
            return lambda names: len(given[0](names))
        if name == "has":
            def there(names):
                try:
                    given[0](names)
                    return True
                except CelError:
                    return False
            return there
        raise Unreadable(name)
