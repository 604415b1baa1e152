// The values of modules: bytes, and CBOR in both directions. Part of the SDK; index.ts gives out all of it.

// --- writing

/** Bytes that grow. */
export class Buffer {
  private data: usize = heap.alloc(64);
  private capacity: i32 = 64;
  size: i32 = 0;

  private reserve(more: i32): void {
    if (this.size + more <= this.capacity) return;
    let capacity = this.capacity * 2;
    while (capacity < this.size + more) capacity *= 2;
    const grown = heap.alloc(capacity);
    memory.copy(grown, this.data, this.size);
    this.data = grown;
    this.capacity = capacity;
  }
  byte(value: i32): void {
    this.reserve(1);
    store<u8>(this.data + this.size++, <u8>value);
  }
  copy(from: usize, size: i32): void {
    this.reserve(size);
    memory.copy(this.data + this.size, from, size);
    this.size += size;
  }
  /** The head of a CBOR item: its major type and its number, in the shortest form. */
  head(major: i32, value: u64): void {
    const kind = major << 5;
    if (value < 24) return this.byte(kind | <i32>value);
    const width = value <= 0xff ? 0 : value <= 0xffff ? 1 : value <= 0xffffffff ? 2 : 3;
    this.byte(kind | (24 + width));
    for (let shift = (8 << width) - 8; shift >= 0; shift -= 8) this.byte(<i32>((value >> shift) & 0xff));
  }
  text(value: string): void {
    const utf8 = String.UTF8.encode(value);
    this.head(3, utf8.byteLength);
    this.copy(changetype<usize>(utf8), utf8.byteLength);
  }
  bytes(value: Bytes): void {
    this.head(2, value.size);
    this.copy(value.at, value.size);
  }
  put(value: Encoded): void {
    this.copy(value.bytes.at, value.bytes.size);
  }
  view(): Bytes {
    return new Bytes(this.data, this.size);
  }
}

/** A view of bytes. */
export class Bytes {
  constructor(
    public at: usize,
    public size: i32,
  ) {}
}

/** A value that was written. */
export class Encoded {
  constructor(public bytes: Bytes) {}

  static nat(value: u64): Encoded {
    const out = new Buffer();
    out.head(0, value);
    return new Encoded(out.view());
  }
  static int(value: i64): Encoded {
    const out = new Buffer();
    if (value >= 0) out.head(0, <u64>value);
    else out.head(1, ~(<u64>value));
    return new Encoded(out.view());
  }
  static bool(value: bool): Encoded {
    return Encoded.single(value ? 0xf5 : 0xf4);
  }
  static text(value: string): Encoded {
    const out = new Buffer();
    out.text(value);
    return new Encoded(out.view());
  }
  static of(value: Bytes): Encoded {
    const out = new Buffer();
    out.bytes(value);
    return new Encoded(out.view());
  }
  /** None, or a unit. */
  static nothing(): Encoded {
    return Encoded.single(0xf6);
  }
  /** An arm of a variant; without a value, one that is a unit. */
  static variant(tag: string, value: Encoded | null = null): Encoded {
    const made = new Record().text("$tag", tag);
    return value === null ? made.done() : made.put("$value", value).done();
  }
  private static single(byte: i32): Encoded {
    const out = new Buffer();
    out.byte(byte);
    return new Encoded(out.view());
  }
}

/** A record: all fields of the type, in any order. Also a map with text keys. */
export class Record {
  private fields: Buffer = new Buffer();
  private count: i32 = 0;

  put(name: string, value: Encoded): Record {
    this.fields.text(name);
    this.fields.put(value);
    ++this.count;
    return this;
  }
  nat(name: string, value: u64): Record {
    return this.put(name, Encoded.nat(value));
  }
  int(name: string, value: i64): Record {
    return this.put(name, Encoded.int(value));
  }
  bool(name: string, value: bool): Record {
    return this.put(name, Encoded.bool(value));
  }
  text(name: string, value: string): Record {
    return this.put(name, Encoded.text(value));
  }
  bytes(name: string, value: Bytes): Record {
    return this.put(name, Encoded.of(value));
  }
  nothing(name: string): Record {
    return this.put(name, Encoded.nothing());
  }
  done(): Encoded {
    const out = new Buffer();
    out.head(5, this.count);
    out.put(new Encoded(this.fields.view()));
    return new Encoded(out.view());
  }
}

/** A list, or a set: sets are sorted by the server. */
export class List {
  private items: Buffer = new Buffer();
  private count: i32 = 0;

  add(value: Encoded): List {
    this.items.put(value);
    ++this.count;
    return this;
  }
  done(): Encoded {
    const out = new Buffer();
    out.head(4, this.count);
    out.put(new Encoded(this.items.view()));
    return new Encoded(out.view());
  }
}

/** A map, its keys in any order, each once. */
export class Entries {
  private items: Buffer = new Buffer();
  private count: i32 = 0;

  add(key: Encoded, value: Encoded): Entries {
    this.items.put(key);
    this.items.put(value);
    ++this.count;
    return this;
  }
  done(): Encoded {
    const out = new Buffer();
    out.head(5, this.count);
    out.put(new Encoded(this.items.view()));
    return new Encoded(out.view());
  }
}

/** "sha256:…" as its 32 bytes: the form of an idempotency key. */
export function hashBytes(hash: string): Bytes {
  const at = heap.alloc(32);
  for (let i = 0; i < 64; ++i) {
    const c = hash.charCodeAt(7 + i);
    const digit = c >= 0x61 ? c - 0x61 + 10 : c - 0x30;
    if (i % 2 == 0) store<u8>(at + i / 2, <u8>(digit << 4));
    else store<u8>(at + i / 2, <u8>(load<u8>(at + i / 2) | digit));
  }
  return new Bytes(at, 32);
}

// --- reading

/** A value where it lies; of no bytes: null. */
export class Value {
  private number: u64 = 0; // of the head that open() read
  private content: usize = 0;

  constructor(
    private at: usize,
    private end: usize,
  ) {}

  static of(bytes: Bytes): Value {
    return new Value(bytes.at, bytes.at + bytes.size);
  }
  static none(): Value {
    return new Value(0, 0);
  }

  get isNull(): bool {
    return this.at == this.end || load<u8>(this.at) == 0xf6;
  }

  private open(): i32 {
    if (this.at >= this.end) unreachable();
    const first = <i32>load<u8>(this.at);
    this.content = this.at + 1;
    this.number = first & 31;
    if (this.number >= 24) {
      const width = 1 << (<i32>this.number - 24);
      this.number = 0;
      for (let i = 0; i < width; ++i) this.number = (this.number << 8) | load<u8>(this.content++);
    }
    return first >> 5;
  }
  private expect(major: i32): void {
    if (this.open() != major) unreachable();
  }

  bool(): bool {
    const first = this.at == this.end ? <u8>0 : load<u8>(this.at);
    if (first != 0xf4 && first != 0xf5) unreachable();
    return first == 0xf5;
  }
  nat(): u64 {
    this.expect(0);
    return this.number;
  }
  int(): i64 {
    const major = this.open();
    if (major > 1) unreachable();
    return <i64>(major == 0 ? this.number : ~this.number);
  }
  text(): string {
    this.expect(3);
    return String.UTF8.decodeUnsafe(this.content, <usize>this.number);
  }
  bytes(): Bytes {
    this.expect(2);
    return new Bytes(this.content, <i32>this.number);
  }
  natOr(otherwise: u64): u64 {
    return this.isNull ? otherwise : this.nat();
  }
  intOr(otherwise: i64): i64 {
    return this.isNull ? otherwise : this.int();
  }
  textOr(otherwise: string): string {
    return this.isNull ? otherwise : this.text();
  }

  /** A field of a record, or the value of a map's text key; null if there is none. */
  get(name: string): Value {
    if (this.isNull) return Value.none();
    const wanted = String.UTF8.encode(name);
    this.expect(5);
    const count = this.number;
    let at = this.content;
    for (let i: u64 = 0; i < count; ++i) {
      const key = new Value(at, this.end);
      const value = new Value(key.skip(), this.end);
      if (
        key.open() == 3 &&
        <i32>key.number == wanted.byteLength &&
        memory.compare(key.content, changetype<usize>(wanted), wanted.byteLength) == 0
      )
        return value;
      at = value.skip();
    }
    return Value.none();
  }

  /** Of a variant: which arm, and what is in it (null for a unit). */
  get tag(): string {
    return this.get("$tag").text();
  }
  get arm(): Value {
    return this.get("$value");
  }

  /** Elements of a list or set; of a map, keys and values by turns. */
  elements(): Value[] {
    const all: Value[] = [];
    if (this.isNull) return all;
    const major = this.open();
    if (major != 4 && major != 5) unreachable();
    const count = major == 4 ? this.number : 2 * this.number;
    let at = this.content;
    for (let i: u64 = 0; i < count; ++i) {
      const item = new Value(at, this.end);
      all.push(item);
      at = item.skip();
    }
    return all;
  }

  /** The byte behind this value. */
  private skip(): usize {
    let left: u64 = 1;
    let at = this.at;
    while (left > 0) {
      const item = new Value(at, this.end);
      const major = item.open();
      at = item.content;
      --left;
      if (major == 2 || major == 3) at += <usize>item.number;
      if (major == 4) left += item.number;
      if (major == 5) left += 2 * item.number;
      if (at > this.end) unreachable();
    }
    return at;
  }

  /** As it stands: to be stored, or sent on, without reading it. */
  encoded(): Encoded {
    if (this.at == this.end) return Encoded.nothing();
    return new Encoded(new Bytes(this.at, <i32>(this.skip() - this.at)));
  }
}

// --- typed values: `pawl worlds types --lang ts` makes classes of a world's schemas, which read and write by these

export class Unit {}

export class Option<T> {
  some: bool = false;
  // Only if there is some.
  value: T = isReference<T>() ? changetype<T>(0) : <T>0;
}

// Of null: what it is when nobody says anything.
export function read_Unit(value: Value): Unit {
  return new Unit();
}
export function read_bool(value: Value): bool {
  return value.isNull ? false : value.bool();
}
export function read_u64(value: Value): u64 {
  return value.natOr(0);
}
export function read_i64(value: Value): i64 {
  return value.intOr(0);
}
export function read_string(value: Value): string {
  return value.textOr("");
}
export function read_Bytes(value: Value): Bytes {
  return value.isNull ? new Bytes(0, 0) : value.bytes();
}
export function encode_Unit(value: Unit): Encoded {
  return Encoded.nothing();
}
export function encode_bool(value: bool): Encoded {
  return Encoded.bool(value);
}
export function encode_u64(value: u64): Encoded {
  return Encoded.nat(value);
}
export function encode_i64(value: i64): Encoded {
  return Encoded.int(value);
}
export function encode_string(value: string): Encoded {
  return Encoded.text(value);
}
export function encode_Bytes(value: Bytes): Encoded {
  return Encoded.of(value);
}
