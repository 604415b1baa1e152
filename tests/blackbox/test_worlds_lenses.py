"""Random values of random types, in every spelling: each is read as the bytes that an independent writer makes, and printed alike."""
import json
import random
import unittest

from world_bytes import b64, enc, event_hash, head, sha
from world_case import Program, WorldCase, schema, workflow
from world_modules import play

SEED = 1
TYPES = 60
VALUES = 5  # of each type
SCALARS = ("bool", "int", "nat", "dec128", "bytes", "text", "time", "duration", "hash", "uuid", "unit")
KEYS = ("int", "nat", "text", "uuid", "hash")
LENGTHS = (0, 1, 2, 23, 24, 255, 256)
NUMBERS = (0, 1, 23, 24, 255, 256, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**63 - 1)


def split(type_):
    (kind, inner), = type_.items()
    return kind, inner


def absent(type_, value):
    return value is None and "option" in type_


class Random:
    """Types, and values of them in Python: a variant is (tag, value), a map a list of pairs."""

    def __init__(self, seed):
        self.dice = random.Random(seed)

    def chance(self):
        return self.dice.random() < 0.5

    def type(self, depth):
        kind = self.dice.choice(("record", "variant", "list", "set", "map", "option"))
        if depth == 0 or self.dice.random() < 0.3:
            return {self.dice.choice(SCALARS): {}}
        if kind in ("record", "variant"):
            names = {"".join(self.dice.choices("abyz_AZ", k=self.dice.choice((1, 2, 30)))) for _ in range(self.dice.choice((1, 2, 5, 26)))}
            return {kind: {name: self.type(depth - 1) for name in sorted(names)}}
        if kind == "map":
            return {"map": {"key": {self.dice.choice(KEYS): {}}, "value": self.type(depth - 1)}}
        inner = self.type(depth - 1)
        return inner if kind == "option" and split(inner)[0] in ("option", "unit") else {kind: inner}

    def dec128(self):
        whole = self.dice.choice(("0", "7", "90", "1" * 17))
        text = whole + self.dice.choice(("", ".0", ".50", "." + "3" * 17))
        return "-" + text if text.strip("0.") and self.chance() else text

    def scalar(self, kind):
        number = self.dice.choice((*NUMBERS, self.dice.randrange(2**63)))
        if kind in ("int", "duration"):
            return number if self.chance() else -1 - number
        if kind == "nat":
            return number if self.chance() else 2**64 - 1 - number
        data = self.dice.randbytes(16)
        digits = data.hex()
        return {"bool": number % 2 == 0, "time": number, "dec128": self.dec128(), "bytes": self.dice.randbytes(self.dice.choice(LENGTHS)),
                "text": "".join(self.dice.choices('aé\0"\\\n\U0001f600\u2028/', k=self.dice.choice(LENGTHS))), "hash": sha(data),
                "uuid": "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])), "unit": None}[kind]

    def value(self, type_):
        kind, inner = split(type_)
        if kind in SCALARS:
            return self.scalar(kind)
        if kind == "record":
            return {name: self.value(field) for name, field in inner.items()}
        if kind == "variant":
            tag = self.dice.choice(sorted(inner))
            return tag, self.value(inner[tag])
        if kind == "option":
            return None if self.chance() else self.value(inner)
        if kind == "map":
            keys = {self.value(inner["key"]) for _ in range(self.dice.choice((0, 1, 3, 24)))}
            return [(key, self.value(inner["value"])) for key in sorted(keys)]
        return [self.value(inner) for _ in range(self.dice.choice((0, 1, 3, 24)))]


def canonical(type_, value):
    """As in CBOR: sets without repetitions, variants as maps, ready for enc() but for sets, whose order is that of bytes."""
    kind, inner = split(type_)
    if kind == "record":
        return {name: canonical(field, value[name]) for name, field in inner.items()}
    if kind == "variant":
        tag, member = value
        return {"$tag": tag} if "unit" in inner[tag] else {"$tag": tag, "$value": canonical(inner[tag], member)}
    if kind == "option":
        return None if value is None else canonical(inner, value)
    if kind == "map":
        return {key: canonical(inner["value"], member) for key, member in value}
    if kind == "list":
        return [canonical(inner, one) for one in value]
    if kind == "set":
        parts = {enc(one): one for one in (canonical(inner, each) for each in value)}
        return [parts[key] for key in sorted(parts)]
    return value


def printed(type_, value):
    """The sugar of a canonical value, as the server prints it."""
    kind, inner = split(type_)
    if kind == "bytes":
        return b64(value)
    if kind == "record":
        return {name: printed(field, value[name]) for name, field in inner.items()}
    if kind == "variant":
        return {name: printed(inner[value["$tag"]], one) if name == "$value" else one for name, one in value.items()}
    if kind == "option":
        return None if value is None else printed(inner, value)
    if kind == "map":
        pairs = [[key, printed(inner["value"], value[key])] for key in sorted(value, key=enc)]
        return pairs if split(inner["key"])[0] in ("int", "nat") else dict(pairs)
    if kind in ("list", "set"):
        return [printed(inner, one) for one in value]
    return value


class Speller:
    """One of the spellings of a value that the contract allows, by chance."""

    def __init__(self, given):
        self.given, self.dice, self.chance = given, given.dice, given.chance

    def shuffled(self, pairs):
        pairs = list(pairs)
        self.dice.shuffle(pairs)
        return pairs

    def fields(self, type_, value):
        return self.shuffled((name, field, value[name]) for name, field in type_.items() if not (absent(field, value[name]) and self.chance()))

    def with_repetitions(self, values):
        return self.shuffled([*values, *(one for one in values if self.chance())])

    def folded(self, text):
        return text.upper() if self.chance() else text

    def sugar(self, type_, value):
        kind, inner = split(type_)
        if kind == "bytes":
            return b64(value)
        if kind == "uuid":
            return self.folded(value)
        if kind == "record":
            return {name: self.sugar(field, member) for name, field, member in self.fields(inner, value)}
        if kind == "variant":
            tag, member = value[0], self.sugar(inner[value[0]], value[1])
            if "unit" in inner[tag] and self.chance():
                return {"$tag": tag}
            return {tag: member} if self.chance() else dict(self.shuffled((("$tag", tag), ("$value", member))))
        if kind == "option":
            return None if value is None else self.sugar(inner, value)
        if kind == "map":
            pairs = self.shuffled([self.sugar(inner["key"], key), self.sugar(inner["value"], member)] for key, member in value)
            return dict(pairs) if split(inner["key"])[0] not in ("int", "nat") and self.chance() else pairs
        if kind == "list":
            return [self.sugar(inner, one) for one in value]
        if kind == "set":
            return [self.sugar(inner, one) for one in self.with_repetitions(value)]
        return value

    def tagged(self, type_, value):
        kind, inner = split(type_)
        if kind == "record":
            return {kind: {name: self.tagged(field, member) for name, field, member in self.fields(inner, value)}}
        if kind == "variant":
            return {kind: {"tag": value[0], "value": self.tagged(inner[value[0]], value[1])}}
        if kind == "option":
            return {"null": {}} if value is None else self.tagged(inner, value)
        if kind == "map":
            return {kind: [{"key": self.tagged(inner["key"], key), "value": self.tagged(inner["value"], member)}
                           for key, member in self.shuffled(value)]}
        if kind == "list":
            return {kind: [self.tagged(inner, one) for one in value]}
        if kind == "set":
            return {kind: [self.tagged(inner, one) for one in self.with_repetitions(value)]}
        return {kind: {} if kind == "unit" else self.sugar(type_, value)}

    def head(self, major, number):
        longer = [mark for mark in (24, 25, 26, 27) if number < 1 << (8 << mark - 24)]
        if self.chance():
            return head(major, number)
        mark = self.dice.choice(longer)
        return bytes([major << 5 | mark]) + number.to_bytes(1 << mark - 24, "big")

    def loose_map(self, pairs):
        return self.head(5, len(pairs)) + b"".join(key + member for key, member in self.shuffled(pairs))

    def loose(self, type_, value):
        """CBOR with long heads, in any order."""
        kind, inner = split(type_)
        if kind == "record":
            return self.loose_map([(self.text(name), self.loose(field, member)) for name, field, member in self.fields(inner, value)])
        if kind == "variant":
            tag, member = value[0], self.loose(inner[value[0]], value[1])
            if self.chance():
                return self.loose_map([(self.text(tag), member)])
            without = "unit" in inner[tag] and self.chance()
            return self.loose_map([(self.text("$tag"), self.text(tag)), *(() if without else ((self.text("$value"), member),))])
        if kind == "option":
            return enc(None) if value is None else self.loose(inner, value)
        if kind == "map":
            return self.loose_map([(self.loose(inner["key"], key), self.loose(inner["value"], member)) for key, member in value])
        if kind in ("list", "set"):
            values = self.with_repetitions(value) if kind == "set" else value
            return self.head(4, len(values)) + b"".join(self.loose(inner, one) for one in values)
        if kind == "bytes":
            return self.head(2, len(value)) + value
        if kind in ("bool", "unit"):
            return enc(value)
        if isinstance(value, str):
            return self.text(self.folded(value) if kind == "uuid" else value)
        return self.head(0, value) if value >= 0 else self.head(1, -1 - value)

    def text(self, text):
        data = text.encode()
        return self.head(3, len(data)) + data


class Lenses(WorldCase):
    def setUp(self):
        super().setUp()
        self.given = Random(SEED)
        self.types = [self.given.type(self.given.dice.choice((1, 2, 3, 4))) for _ in range(TYPES)]
        self.values = [[self.given.value(type_) for _ in range(VALUES)] for type_ in self.types]

    def test_every_spelling_is_read_as_the_same_bytes(self):
        world = self.make(Program().add(*(schema(f"t/T{at}@1", type_) for at, type_ in enumerate(self.types))))
        speller = Speller(self.given)
        for at, type_ in enumerate(self.types):
            name = f"t/T{at}@1"
            for value in self.values[at]:
                wanted = event_hash(name, enc(canonical(type_, value)))
                for given in ({"value": speller.sugar(type_, value)}, {"value": speller.tagged(type_, value), "lens": "tagged"},
                              {"value_b64": b64(speller.loose(type_, value))}):
                    with self.subTest(type=json.dumps(type_)[:300], given=str(given)[:300]):
                        self.assertEqual(world.post("/events", {"schema": name, **given})["event_hash"], wanted)

    def test_values_are_printed_in_one_way_and_can_be_given_back(self):
        program = Program()
        for at, type_ in enumerate(self.types):
            program.add(schema(f"t/T{at}@1", type_), workflow(f"t/w{at}@1", "t/Go@1", f"t/T{at}@1"))
        world = self.make(program)
        for at, type_ in enumerate(self.types):
            for value in self.values[at]:
                data = enc(canonical(type_, value))
                call = {"module": f"t/w{at}@1", "event": {"schema": "t/Go@1", "value": {"id": "a", "out": b64(play({"state": data}))}}}
                with self.subTest(type=json.dumps(type_)[:300], value=str(value)[:300]):
                    first = world.post("/step-test", call)
                    self.assertEqual((first["state_b64"], first["state"]), (b64(data), printed(type_, canonical(type_, value))))
                    if first["state"] is not None:
                        world.post("/step-test", {**call, "state": first["state"]})


if __name__ == "__main__":
    unittest.main()
