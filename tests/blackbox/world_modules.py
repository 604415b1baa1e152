"""Modules for the tests of worlds, assembled here byte by byte.

`puppet()` is a module that does what its input says: somewhere in its event (or receipt, or cap params) stand bytes made by
`play()`, and it returns what they hold, or traps, loops, and so on. Without such bytes it echoes: its new state is
{last: <its whole input>}, and that of a pure module its output. So one module plays every part, and the test sees all it was given.
"""
from world_bytes import b64, enc

MAGIC = b"\x00puppet\x01"
RETURN, TRAP, LOOP, BAD_POINTER, GROW, RECURSE = range(6)

I32, I64, EMPTY = 0x7F, 0x7E, 0x40


# --- what a puppet is told

def play(output=b"", mode=RETURN):
    """Bytes that make a puppet return these bytes."""
    data = output if isinstance(output, bytes) else enc(output)
    return MAGIC + bytes([mode]) + len(data).to_bytes(4, "little") + data


def play_grow(pages, grown, refused):
    """memory.grow by so many pages; returns the one or the other output."""
    first, second = enc(grown), enc(refused)
    return play(pages.to_bytes(4, "little") + len(first).to_bytes(4, "little") + first +
                len(second).to_bytes(4, "little") + second, GROW)


def effect(kind, params, cap_slot=None, idempotency_key=None):
    made = {"kind": kind, "params_cbor": params if isinstance(params, bytes) else enc(params)}
    if cap_slot is not None:
        made["cap_slot"] = cap_slot
    if idempotency_key is not None:
        made["idempotency_key"] = idempotency_key
    return made


def emit(schema, value, key=None):
    made = {"schema": schema, "value": value if isinstance(value, bytes) else enc(value)}
    if key is not None:
        made["key"] = enc(key)
    return made


def step_output(state=None, effects=None, events=None, status=None, error=None, **more):
    """What a step returns. A state is a CBOR value; None: no state."""
    made = {"state": None if state is None else enc(state), **more}
    for name, value in (("effects", effects), ("domain_events", events), ("status", status), ("error", error)):
        if value is not None:
            made[name] = value
    return made


def pure_output(value):
    """What a pure module returns."""
    return {"output": enc(value)}


# --- WebAssembly, as much as is needed

def leb(number):
    out = bytearray()
    while True:
        out.append(number & 0x7F | (0x80 if number > 0x7F else 0))
        number >>= 7
        if not number:
            return bytes(out)


def sleb(number):
    out = bytearray()
    while True:
        byte, number = number & 0x7F, number >> 7
        if number == (-1 if byte & 0x40 else 0):
            return bytes(out + bytes([byte]))
        out.append(byte | 0x80)


def vector(items):
    return leb(len(items)) + b"".join(items)


def section(number, content):
    return bytes([number]) + leb(len(content)) + content


def name(text):
    return leb(len(text)) + text.encode()


def get(local):
    return b"\x20" + leb(local)


def put(local):
    return b"\x21" + leb(local)


def i32(number):
    return b"\x41" + sleb(number)


def call(function):
    return b"\x10" + leb(function)


ADD, SUB, MUL, SHR, AND = b"\x6a", b"\x6b", b"\x6c", b"\x76", b"\x71"
LOAD, LOAD8, LOAD64, STORE, STORE8 = b"\x28\x00\x00", b"\x2d\x00\x00", b"\x29\x00\x00", b"\x36\x00\x00", b"\x3a\x00\x00"
GT, LT, EQZ, EQ, EQ64 = b"\x4b", b"\x49", b"\x45", b"\x46", b"\x51"
END, RETURN_OP, UNREACHABLE = b"\x0b", b"\x0f", b"\x00"
PACK = b"\xad"  # i64.extend_i32_u


def when(*then):
    return b"\x04" + bytes([EMPTY]) + b"".join(then) + END


def loop(*body):
    return b"\x03" + bytes([EMPTY]) + b"".join(body) + END


def branch(depth):
    return b"\x0c" + leb(depth)


def packed(pointer, size):
    """Two i32 on the stack's way to ptr<<32|len."""
    return pointer + PACK + b"\x42\x20" + b"\x86" + size + PACK + b"\x84"


def function_type(takes, gives):
    return b"\x60" + vector([bytes([one]) for one in takes]) + vector([bytes([one]) for one in gives])


def body(locals_i32, code):
    content = (vector([leb(locals_i32) + bytes([I32])]) if locals_i32 else b"\x00") + code + END
    return leb(len(content)) + content


def slow_to_compile(functions):
    """A few kilobytes that keep the compiler busy: each function has all the locals there may be."""
    header = b"\x00asm\x01\x00\x00\x00"
    return (header + section(1, vector([function_type([I32], [I32])])) + section(3, vector([b"\x00"] * functions)) +
            section(5, b"\x01\x00\x01") + section(10, vector([body(49_000, get(0))] * functions)))


def code_of_alloc():
    """A bump allocator that grows the memory, and traps where it may not."""
    heap, need = b"\x23\x00", put(1)
    pages = heap + get(0) + ADD + i32(65535) + ADD + i32(16) + SHR + b"\x3f\x00" + SUB  # … - memory.size
    return body(1, pages + need + get(1) + i32(0) + b"\x4a" +  # signed >
                when(get(1), b"\x40\x00", i32(-1), EQ, when(UNREACHABLE)) +
                heap + heap + get(0) + ADD + i32(7) + ADD + i32(-8) + AND + b"\x24\x00")


def code_of_echo(prefix):
    """(ptr, len) -> i64: prefix, length, {"last": bytes} of what it was given."""
    inner = b"\xa1\x64last\x5a"
    pointer, at = 2, 3
    code = get(1) + i32(64) + ADD + call(0) + put(pointer) + get(pointer) + put(at)

    def write(data):
        return b"".join(get(at) + i32(byte) + STORE8 + get(at) + i32(1) + ADD + put(at) for byte in data)

    def write_length(extra):
        return b"".join(get(at) + get(1) + i32(extra) + ADD + i32(shift) + SHR + STORE8 +
                        get(at) + i32(1) + ADD + put(at) for shift in (24, 16, 8, 0))
    code += write(prefix + b"\x5a") + write_length(len(inner) + 4) + write(inner) + write_length(0)
    counter = 4
    code += i32(0) + put(counter) + loop(
        get(counter), get(1), LT,
        when(get(at), get(counter), ADD, get(0), get(counter), ADD, LOAD8, STORE8,
             get(counter), i32(1), ADD, put(counter), branch(1)))
    code += packed(get(pointer), get(at) + get(1) + ADD + get(pointer) + SUB)
    return body(3, code)


def code_of_play(initialised):
    """(ptr, len) -> i64: finds what play() made, does it; echoes if there is none."""
    at, data, size, mode, skip = 2, 3, 4, 5, 6
    magic = b"\x42" + sleb(int.from_bytes(MAGIC, "little", signed=True))
    code = b""
    if initialised:
        code += b"\x23\x01" + EQZ + when(UNREACHABLE)
    acts = [
        get(mode) + i32(TRAP) + EQ + when(UNREACHABLE),
        get(mode) + i32(LOOP) + EQ + when(loop(branch(0))),
        get(mode) + i32(BAD_POINTER) + EQ + when(packed(i32(-16), i32(4096)), RETURN_OP),
        get(mode) + i32(RECURSE) + EQ + when(get(0), get(1), call(2), b"\x1a"),
        get(mode) + i32(GROW) + EQ + when(
            get(data) + LOAD + b"\x40\x00" + i32(-1) + EQ + put(skip),
            get(data) + i32(4) + ADD + put(data),
            get(skip), when(get(data), get(data), LOAD, ADD, i32(4), ADD, put(data)),
            get(data) + LOAD + put(size) + get(data) + i32(4) + ADD + put(data)),
    ]
    found = (get(at) + i32(8) + ADD + LOAD8 + put(mode) + get(at) + i32(9) + ADD + LOAD + put(size) +
             get(at) + i32(13) + ADD + put(data) + b"".join(acts) + packed(get(data), get(size)) + RETURN_OP)
    code += get(0) + put(at) + loop(
        get(at), i32(13), ADD, get(0), get(1), ADD, GT, EQZ,
        when(get(at), LOAD64, magic, EQ64, when(found), get(at), i32(1), ADD, put(at), branch(1)))
    return body(5, code + get(0) + get(1) + call(1))


# step's types: how pointer and length come back
PACKED, PAIR, RETURN_POINTER = "packed", "pair", "return pointer"


def puppet(pure=False, abi=PACKED, memory_pages=2, initialise=False, without=(), imports=False, extra=b"", entry=None, ballast=0):
    """A module's bytes. `extra`: instructions at the start of the entry; `without`: exports to leave out; `ballast`: functions of
    60 KB that nobody calls."""
    prefix = b"\xa1\x66output" if pure else b"\xa1\x65state"
    types = [function_type([I32], [I32]), function_type([I32, I32], [I64]), function_type([], []),
             function_type([I32, I32], [I32, I32]), function_type([I32, I32, I32], []), function_type([I64], [I64])]
    entry_type = {PACKED: 1, PAIR: 3, RETURN_POINTER: 4}[abi]
    entries = {
        PACKED: body(0, extra + get(0) + get(1) + call(2)),
        PAIR: body_i64(2, extra + get(0) + get(1) + call(2) + b"\x22\x02" + b"\x42\x20\x88\xa7" + get(2) + b"\xa7"),
        RETURN_POINTER: body_i64(3, extra + get(1) + get(2) + call(2) + put(3) +
                                 get(0) + get(3) + b"\x42\x20\x88\xa7" + STORE +
                                 get(0) + i32(4) + ADD + get(3) + b"\xa7" + STORE),
    }
    functions = [0, 1, 1, entry_type, 2] + [2] * ballast
    codes = [code_of_alloc(), code_of_echo(prefix), code_of_play(initialise), entries[abi],
             body(0, b"\x41\x01\x24\x01")] + [body(0, (i32(1) + b"\x1a") * 20_000)] * ballast
    exports = {"memory": b"\x02\x00", "alloc": b"\x00\x00", entry or ("run" if pure else "step"): b"\x00\x03"}
    if initialise:
        exports["_initialize"] = b"\x00\x04"
    sections = [section(1, vector(types))]
    if imports:  # a table: functions and globals keep their numbers
        sections.append(section(2, vector([name("env") + name("table") + b"\x01\x70\x00\x00"])))
    sections += [
        section(3, vector([leb(one) for one in functions])),
        section(5, vector([b"\x00" + leb(memory_pages)])),
        section(6, vector([bytes([I32, 1]) + i32(1024) + END, bytes([I32, 1]) + i32(0) + END])),
        section(7, vector([name(text) + what for text, what in exports.items() if text not in without])),
        section(10, vector(codes))]
    return b"\0asm\x01\0\0\0" + b"".join(sections)


def body_i64(parameters, code):
    """A body with one i64 local behind so many parameters."""
    content = vector([b"\x01" + bytes([I64])]) + code + END
    assert parameters
    return leb(len(content)) + content


def wasm_b64(**options):
    return b64(puppet(**options))
