//! Modules of Pawl worlds in Rust: no dependencies, no standard library.
//!
//! ```text
//! cargo build --release --target wasm32-unknown-unknown
//! ```
//!
//! A workflow is a function over a [`Step`], made a module by [`workflow!`]; a pure module is a function over a [`Pure`],
//! made one by [`pure!`]. A crate (`crate-type = ["cdylib"]`) is one module and has one of them.
//!
//! ```ignore
//! #![no_std]
//! use pawl_module::{record, workflow, Step};
//!
//! fn counter(step: &mut Step) {
//!     let count = step.state().get("count").nat_or(0);
//!     let by = step.event().get("by").nat();
//!     step.set_state(record(&[("count", &(count + by))]));
//!     step.complete(); // until the next event
//! }
//! workflow!(counter);
//! ```
//!
//! Values are CBOR as docs/reference/module-abi.md has it. [`Value`] reads them where they lie; [`Encoded`] is one that
//! was written. What a module was given fits its schemas, so a value that is read as something else is a mistake of the
//! module: it panics, the step fails with step.trap, and nothing of it is kept. A field that is not there is null.
//!
//! Every call has a fresh memory: nothing is ever freed, statics do not last. There is no clock and no random but those of
//! the context. Do not use floats: values cannot have them.
#![no_std]

extern crate alloc;

use alloc::string::ToString;
pub use alloc::{collections::BTreeMap, format, string::String, vec, vec::Vec};

// --- memory

#[cfg(target_arch = "wasm32")]
mod memory {
    use core::alloc::{GlobalAlloc, Layout};
    use core::arch::wasm32::{memory_grow, memory_size, unreachable};
    use core::cell::UnsafeCell;

    const PAGE: usize = 65536;

    /// Hands out memory and never takes it back: a call's memory is dropped as a whole.
    struct Bump(UnsafeCell<usize>);
    // A module has one thread.
    unsafe impl Sync for Bump {}

    extern "C" {
        static __heap_base: u8;
    }

    unsafe impl GlobalAlloc for Bump {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let next = self.0.get();
            if *next == 0 {
                *next = core::ptr::addr_of!(__heap_base) as usize;
            }
            let start = (*next + layout.align() - 1) & !(layout.align() - 1);
            let Some(end) = start.checked_add(layout.size()) else { return core::ptr::null_mut() };
            let have = memory_size(0) * PAGE;
            if end > have {
                let need = (end - have + PAGE - 1) / PAGE;
                if memory_grow(0, need.max(16)) == usize::MAX && memory_grow(0, need) == usize::MAX {
                    return core::ptr::null_mut();
                }
            }
            *next = end;
            start as *mut u8
        }
        unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
    }

    #[global_allocator]
    static ALLOCATOR: Bump = Bump(UnsafeCell::new(0));

    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo) -> ! {
        unreachable()
    }
}

// --- writing: each gives an Encoded, and takes them as parts

/// What can stand in a value.
pub trait Put {
    fn put(&self, out: &mut Vec<u8>);
}

/// A value that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded(pub Vec<u8>);

/// Bytes; text is `str`.
pub struct Bytes<'a>(pub &'a [u8]);

/// None, or a unit.
pub struct Null;

fn head(out: &mut Vec<u8>, major: u8, number: u64) {
    let kind = major << 5;
    match number {
        0..=23 => out.push(kind | number as u8),
        24..=0xff => out.extend_from_slice(&[kind | 24, number as u8]),
        0x100..=0xffff => {
            out.push(kind | 25);
            out.extend_from_slice(&(number as u16).to_be_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(kind | 26);
            out.extend_from_slice(&(number as u32).to_be_bytes());
        }
        _ => {
            out.push(kind | 27);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

impl Put for Encoded {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}
impl Put for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(if *self { 0xf5 } else { 0xf4 });
    }
}
impl Put for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        head(out, 0, *self);
    }
}
impl Put for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        if *self >= 0 {
            head(out, 0, *self as u64);
        } else {
            head(out, 1, !(*self as u64));
        }
    }
}
impl Put for str {
    fn put(&self, out: &mut Vec<u8>) {
        head(out, 3, self.len() as u64);
        out.extend_from_slice(self.as_bytes());
    }
}
impl Put for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_str().put(out);
    }
}
impl Put for Bytes<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        head(out, 2, self.0.len() as u64);
        out.extend_from_slice(self.0);
    }
}
impl Put for Null {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(0xf6);
    }
}
impl Put for Value<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        self.encoded().put(out);
    }
}
impl<T: Put> Put for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.put(out),
            None => Null.put(out),
        }
    }
}
impl<T: Put + ?Sized> Put for &T {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }
}
/// A list, or a set: sets are sorted by the server.
impl<T: Put> Put for [T] {
    fn put(&self, out: &mut Vec<u8>) {
        head(out, 4, self.len() as u64);
        for item in self {
            item.put(out);
        }
    }
}
impl<T: Put> Put for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_slice().put(out);
    }
}

pub fn encode<T: Put + ?Sized>(value: &T) -> Encoded {
    let mut out = Vec::new();
    value.put(&mut out);
    Encoded(out)
}

/// `record(&[("order_id", &id), ("amount_cents", &4200u64)])`: all fields of the type, in any order.
pub fn record(fields: &[(&str, &dyn Put)]) -> Encoded {
    let mut out = Vec::new();
    head(&mut out, 5, fields.len() as u64);
    for (name, value) in fields {
        name.put(&mut out);
        value.put(&mut out);
    }
    Encoded(out)
}

/// An arm of a variant that is a unit: `unit_variant("Open")`.
pub fn unit_variant(tag: &str) -> Encoded {
    record(&[("$tag", &tag)])
}

/// An arm of a variant: `variant("Paid", &record(…))`.
pub fn variant(tag: &str, value: &dyn Put) -> Encoded {
    record(&[("$tag", &tag), ("$value", &value)])
}

/// A map, its keys in any order, each once.
pub fn map<K: Put, T: Put>(entries: &[(K, T)]) -> Encoded {
    let mut out = Vec::new();
    head(&mut out, 5, entries.len() as u64);
    for (key, value) in entries {
        key.put(&mut out);
        value.put(&mut out);
    }
    Encoded(out)
}

// --- typed values: `pawl worlds types --lang rust` makes types of a world's schemas, which read and write by these

/// What can be made of a value. Of null: what it is when nobody says anything.
pub trait Read {
    fn read(value: Value) -> Self;
}

/// A byte string of one's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blob(pub Vec<u8>);

impl Put for Blob {
    fn put(&self, out: &mut Vec<u8>) {
        Bytes(&self.0).put(out);
    }
}
impl Put for () {
    fn put(&self, out: &mut Vec<u8>) {
        Null.put(out);
    }
}
impl<K: Put, T: Put> Put for BTreeMap<K, T> {
    fn put(&self, out: &mut Vec<u8>) {
        head(out, 5, self.len() as u64);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }
}

impl Read for () {
    fn read(_: Value) -> Self {}
}
impl Read for bool {
    fn read(value: Value) -> Self {
        !value.is_null() && value.boolean()
    }
}
impl Read for u64 {
    fn read(value: Value) -> Self {
        value.nat_or(0)
    }
}
impl Read for i64 {
    fn read(value: Value) -> Self {
        value.integer_or(0)
    }
}
impl Read for String {
    fn read(value: Value) -> Self {
        value.text_or("").into()
    }
}
impl Read for Blob {
    fn read(value: Value) -> Self {
        Blob(value.some().map(|one| one.bytes().to_vec()).unwrap_or_default())
    }
}
impl<T: Read> Read for Option<T> {
    fn read(value: Value) -> Self {
        value.some().map(T::read)
    }
}
impl<T: Read> Read for Vec<T> {
    fn read(value: Value) -> Self {
        value.elements().map(T::read).collect()
    }
}
impl<K: Read + Ord, T: Read> Read for BTreeMap<K, T> {
    fn read(value: Value) -> Self {
        value.entries().map(|(key, value)| (K::read(key), T::read(value))).collect()
    }
}

/// "sha256:…" as its 32 bytes: the form of an idempotency key.
pub fn hash_bytes(hash: &str) -> Vec<u8> {
    let hex = hash.strip_prefix("sha256:").expect("a hash").as_bytes();
    let digit = |c: u8| (c as char).to_digit(16).expect("a hash") as u8;
    hex.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

// --- reading

/// A value where it lies. `Value::default()` is null.
#[derive(Clone, Copy, Default)]
pub struct Value<'a> {
    bytes: &'a [u8],
}

impl<'a> Value<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Value { bytes }
    }

    pub fn is_null(&self) -> bool {
        self.bytes.is_empty() || self.bytes[0] == 0xf6
    }

    fn open(&self) -> (u8, u64, &'a [u8]) {
        let first = self.bytes[0];
        let (major, short, rest) = (first >> 5, first & 31, &self.bytes[1..]);
        if short < 24 {
            return (major, short as u64, rest);
        }
        let width = 1usize << (short - 24);
        let number = rest[..width].iter().fold(0u64, |all, byte| all << 8 | *byte as u64);
        (major, number, &rest[width..])
    }

    fn content(&self, wanted: u8) -> &'a [u8] {
        let (major, number, rest) = self.open();
        assert!(major == wanted);
        &rest[..number as usize]
    }

    pub fn boolean(&self) -> bool {
        match self.bytes[0] {
            0xf5 => true,
            0xf4 => false,
            _ => panic!(),
        }
    }
    pub fn nat(&self) -> u64 {
        let (major, number, _) = self.open();
        assert!(major == 0);
        number
    }
    pub fn integer(&self) -> i64 {
        let (major, number, _) = self.open();
        assert!(major <= 1);
        if major == 0 {
            number as i64
        } else {
            !number as i64
        }
    }
    pub fn text(&self) -> &'a str {
        core::str::from_utf8(self.content(3)).expect("UTF-8")
    }
    pub fn bytes(&self) -> &'a [u8] {
        self.content(2)
    }
    pub fn nat_or(&self, otherwise: u64) -> u64 {
        if self.is_null() {
            otherwise
        } else {
            self.nat()
        }
    }
    pub fn integer_or(&self, otherwise: i64) -> i64 {
        if self.is_null() {
            otherwise
        } else {
            self.integer()
        }
    }
    pub fn text_or(&self, otherwise: &'a str) -> &'a str {
        if self.is_null() {
            otherwise
        } else {
            self.text()
        }
    }
    /// Nothing if it is null.
    pub fn some(self) -> Option<Value<'a>> {
        if self.is_null() {
            None
        } else {
            Some(self)
        }
    }

    /// A field of a record, or the value of a map's text key; null if there is none.
    pub fn get(&self, name: &str) -> Value<'a> {
        for (key, value) in self.entries() {
            if key.bytes[0] >> 5 == 3 && key.content(3) == name.as_bytes() {
                return value;
            }
        }
        Value::default()
    }

    /// Of a variant: which arm, and what is in it (null for a unit).
    pub fn tag(&self) -> &'a str {
        self.get("$tag").text()
    }
    pub fn arm(&self) -> Value<'a> {
        self.get("$value")
    }

    /// How many elements a list or set has, or entries a map.
    pub fn size(&self) -> u64 {
        if self.is_null() {
            0
        } else {
            self.open().1
        }
    }
    pub fn elements(&self) -> impl Iterator<Item = Value<'a>> {
        let (mut rest, mut left) = self.inside(4);
        core::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let item = Value { bytes: rest };
            rest = item.behind();
            Some(item)
        })
    }
    pub fn entries(&self) -> impl Iterator<Item = (Value<'a>, Value<'a>)> {
        let (mut rest, mut left) = self.inside(5);
        core::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let key = Value { bytes: rest };
            let value = Value { bytes: key.behind() };
            rest = value.behind();
            Some((key, value))
        })
    }
    fn inside(&self, wanted: u8) -> (&'a [u8], u64) {
        if self.is_null() {
            return (&[], 0);
        }
        let (major, number, rest) = self.open();
        assert!(major == wanted);
        (rest, number)
    }

    /// What follows this value.
    fn behind(&self) -> &'a [u8] {
        let (mut rest, mut left) = (self.bytes, 1u64);
        while left > 0 {
            let (major, number, after) = Value { bytes: rest }.open();
            left -= 1;
            rest = after;
            match major {
                2 | 3 => rest = &rest[number as usize..],
                4 => left += number,
                5 => left += 2 * number,
                _ => {}
            }
        }
        rest
    }

    /// As it stands: to be stored, or sent on, without reading it.
    pub fn encoded(&self) -> Encoded {
        if self.bytes.is_empty() {
            return encode(&Null);
        }
        Encoded(self.bytes[..self.bytes.len() - self.behind().len()].to_vec())
    }
}

// --- a step

pub const SECOND: u64 = 1_000_000_000;

/// How an effect leaves: the slot whose grant it uses, and a key (32 bytes) that its adapter passes on.
#[derive(Default)]
pub struct EffectOptions<'a> {
    pub slot: Option<&'a str>,
    pub idempotency_key: Option<&'a [u8]>,
}

pub struct Step<'a> {
    event: Value<'a>,
    context: Value<'a>,
    given: Option<&'a [u8]>,
    state: Option<Vec<u8>>,
    effects: Vec<Encoded>,
    events: Vec<Encoded>,
    annotations: Option<Vec<u8>>,
    status: Option<&'static str>,
    error: Option<String>,
}

impl<'a> Step<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        let input = Value::new(input);
        let given = input.get("state").some().map(|state| state.bytes());
        Step {
            event: input.get("event"),
            context: input.get("ctx").some().map(|ctx| Value::new(ctx.bytes())).unwrap_or_default(),
            given,
            state: given.map(|state| state.to_vec()),
            effects: Vec::new(),
            events: Vec::new(),
            annotations: None,
            status: None,
            error: None,
        }
    }

    /// Null: there is none yet.
    pub fn state(&self) -> Value<'a> {
        self.given.map(Value::new).unwrap_or_default()
    }
    /// The event, of abi.event; if that is a variant, its tag and what is in the arm.
    pub fn event(&self) -> Value<'a> {
        Value::new(self.event.get("value").bytes())
    }
    pub fn tag(&self) -> &'a str {
        self.event().tag()
    }
    pub fn value(&self) -> Value<'a> {
        self.event().arm()
    }
    /// Of the instance; null if the module is not keyed.
    pub fn key(&self) -> Value<'a> {
        self.event.get("key").some().map(|key| Value::new(key.bytes())).unwrap_or_default()
    }

    /// If abi.context is sys/WorkflowContext@1; the same in every replay.
    pub fn context(&self) -> Value<'a> {
        assert!(!self.context.is_null());
        self.context
    }
    pub fn now_ns(&self) -> u64 {
        self.context().get("now_ns").nat()
    }
    /// Never goes back.
    pub fn logical_now_ns(&self) -> u64 {
        self.context().get("logical_now_ns").nat()
    }
    pub fn height(&self) -> u64 {
        self.context().get("journal_height").nat()
    }
    pub fn entropy(&self) -> &'a [u8] {
        self.context().get("entropy").bytes()
    }
    pub fn event_hash(&self) -> &'a str {
        self.context().get("event_hash").text()
    }

    /// Without it the state stays as it is.
    pub fn set_state(&mut self, state: Encoded) {
        self.state = Some(state.0);
    }
    /// The instance is completed, and its cell gone.
    pub fn clear_state(&mut self) {
        self.state = None;
    }
    pub fn complete(&mut self) {
        self.status = Some("completed");
    }
    pub fn fail(&mut self, error: &str) {
        self.status = Some("failed");
        self.error = Some(error.to_string());
    }
    pub fn effect(&mut self, kind: &str, params: Encoded, options: EffectOptions) {
        let params = Bytes(&params.0);
        let key = options.idempotency_key.map(Bytes);
        let mut fields: Vec<(&str, &dyn Put)> = vec![("kind", &kind), ("params_cbor", &params)];
        if let Some(slot) = &options.slot {
            fields.push(("cap_slot", slot));
        }
        if let Some(key) = &key {
            fields.push(("idempotency_key", key));
        }
        self.effects.push(record(&fields));
    }
    /// Its receipt comes at this time, on the logical clock.
    pub fn timer(&mut self, deliver_at_ns: u64) {
        let params = record(&[("deliver_at_ns", &deliver_at_ns), ("key", &Null)]);
        self.effect("timer.set", params, EffectOptions::default());
    }
    /// A domain event, for whoever subscribes to its schema.
    pub fn publish(&mut self, schema: &str, value: Encoded) {
        self.events.push(record(&[("schema", &schema), ("value", &Bytes(&value.0))]));
    }
    pub fn publish_keyed(&mut self, schema: &str, value: Encoded, key: Encoded) {
        self.events.push(record(&[("schema", &schema), ("value", &Bytes(&value.0)), ("key", &Bytes(&key.0))]));
    }
    pub fn annotate(&mut self, annotations: Encoded) {
        self.annotations = Some(annotations.0);
    }

    pub fn output(&self) -> Vec<u8> {
        let state = self.state.as_deref().map(Bytes);
        let annotations = self.annotations.as_deref().map(Bytes);
        let mut fields: Vec<(&str, &dyn Put)> =
            vec![("state", &state), ("effects", &self.effects), ("domain_events", &self.events)];
        if let Some(annotations) = &annotations {
            fields.push(("ann", annotations));
        }
        if let Some(status) = &self.status {
            fields.push(("status", status));
        }
        if let Some(error) = &self.error {
            fields.push(("error", error));
        }
        record(&fields).0
    }
}

/// A receipt, as sys/EffectReceiptEnvelope@1 brings it: `Receipt(step.value())`.
pub struct Receipt<'a>(pub Value<'a>);

impl<'a> Receipt<'a> {
    /// ok, error or timeout.
    pub fn status(&self) -> &'a str {
        self.0.get("status").text()
    }
    pub fn ok(&self) -> bool {
        self.status() == "ok"
    }
    pub fn kind(&self) -> &'a str {
        self.0.get("effect_kind").text()
    }
    pub fn intent(&self) -> &'a str {
        self.0.get("intent_id").text()
    }
    /// ok: of the effect's receipt_schema; else that, or sys/EffectError@1 {code, message}.
    pub fn payload(&self) -> Value<'a> {
        Value::new(self.0.get("receipt_payload").bytes())
    }
}

pub struct Pure<'a> {
    input: Value<'a>,
    output: Vec<u8>,
}

impl<'a> Pure<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Pure { input: Value::new(input), output: Vec::new() }
    }
    pub fn input(&self) -> Value<'a> {
        Value::new(self.input.get("input").bytes())
    }
    /// If abi.context is sys/PureContext@1.
    pub fn context(&self) -> Value<'a> {
        Value::new(self.input.get("ctx").bytes())
    }
    pub fn set_output(&mut self, output: Encoded) {
        self.output = output.0;
    }
    pub fn output(&self) -> Vec<u8> {
        record(&[("output", &Bytes(&self.output))]).0
    }
}

/// The result of an entry: pointer and length, kept for the reader.
pub fn packed(output: Vec<u8>) -> u64 {
    let output = output.leak();
    (output.as_ptr() as u64) << 32 | output.len() as u64
}

/// The exports of a module: memory (by the linker), alloc, and step or run.
#[macro_export]
macro_rules! export {
    ($entry:literal, $call:ident, $function:path) => {
        #[export_name = "alloc"]
        pub extern "C" fn pawl_export_alloc(size: usize) -> *mut u8 {
            $crate::Vec::<u8>::with_capacity(size.max(1)).leak().as_mut_ptr()
        }
        /// # Safety
        /// The server gives a pointer of alloc() and the length that it wrote there.
        #[export_name = $entry]
        pub unsafe extern "C" fn pawl_export_entry(input: *const u8, size: usize) -> u64 {
            let mut call = $crate::$call::new(core::slice::from_raw_parts(input, size));
            $function(&mut call);
            $crate::packed(call.output())
        }
    };
}

#[macro_export]
macro_rules! workflow {
    ($function:path) => {
        $crate::export!("step", Step, $function);
    };
}

#[macro_export]
macro_rules! pure {
    ($function:path) => {
        $crate::export!("run", Pure, $function);
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_they_were_written() {
        let value = record(&[
            ("n", &u64::MAX),
            ("i", &-500i64),
            ("t", &"text"),
            ("b", &Bytes(&[0, 255])),
            ("l", &vec![1u64, 24, 256, 70000]),
            ("v", &variant("Paid", &true)),
            ("o", &Null),
        ]);
        let value = Value::new(&value.0);
        assert_eq!(value.get("n").nat(), u64::MAX);
        assert_eq!(value.get("i").integer(), -500);
        assert_eq!(value.get("t").text(), "text");
        assert_eq!(value.get("b").bytes(), [0, 255]);
        let list: Vec<u64> = value.get("l").elements().map(|item| item.nat()).collect();
        assert_eq!(list, [1, 24, 256, 70000]);
        assert_eq!(value.get("v").tag(), "Paid");
        assert!(value.get("v").arm().boolean());
        assert!(value.get("o").is_null() && value.get("nothing").is_null());
        assert_eq!(value.get("nothing").nat_or(7), 7);
    }

    #[test]
    fn a_step_says_only_what_it_was_told() {
        let event = record(&[("by", &2u64)]);
        let input = record(&[
            ("version", &1u64),
            ("state", &Null),
            ("event", &record(&[("schema", &"demo/Add@1"), ("value", &Bytes(&event.0))])),
        ]);
        let mut step = Step::new(&input.0);
        assert!(step.state().is_null());
        let by = step.event().get("by").nat();
        step.set_state(record(&[("count", &by)]));
        step.effect("demo.do", event, EffectOptions { slot: Some("one"), ..Default::default() });
        let output = step.output();
        let output = Value::new(&output);
        assert_eq!(Value::new(output.get("state").bytes()).get("count").nat(), 2);
        assert_eq!(output.get("effects").elements().next().unwrap().get("cap_slot").text(), "one");
        assert!(output.get("status").is_null() && output.get("error").is_null());
    }

    #[test]
    fn a_hash_is_32_bytes() {
        let text = format!("sha256:{}", "0f".repeat(32));
        assert_eq!(hash_bytes(&text), vec![0x0f; 32]);
    }
}
