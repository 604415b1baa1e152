// cel_conformance FILE: runs CEL conformance cases given as typed JSON, prints every failure, and
// closes with "N passed, N failed". Exit 0 if all passed, 1 if some failed, 2 if the file could not
// be read.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "expr/cel/checker.h"
#include "expr/cel/compare.h"
#include "expr/cel/functions.h"
#include "expr/cel/program.h"
#include "expr/cel/show.h"

namespace pawl::expr {
namespace {

std::string text_of(const Value& object, std::string_view key) {
  const Value* member = object.find(key);
  return member != nullptr && member->is_string() ? member->as_string() : "";
}

bool flag_of(const Value& object, std::string_view key) {
  const Value* member = object.find(key);
  return member != nullptr && member->is_bool() && member->as_bool();
}

template <typename T>
T number_of(const Value& object, std::string_view key) {
  const std::string text = text_of(object, key);
  T value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double double_of(const Value& object) {
  if (const std::string bits_text = text_of(object, "bits"); !bits_text.empty()) {
    uint64_t bits = 0;
    std::from_chars(bits_text.data(), bits_text.data() + bits_text.size(), bits, 16);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  const Value* value = object.find("v");
  if (value != nullptr && value->is_number()) return value->as_double();
  const std::string text = text_of(object, "v");
  if (text == "NaN") return std::nan("");
  return text == "-Infinity" ? -INFINITY : INFINITY;
}

Val decode_base64(const std::string& text) {
  Budget budget;
  CallContext context{budget};
  const Val argument = Val::string(text);
  return find_function("base64.decode", false, 1)->body(context, {&argument, 1});
}

Val type_from(const std::string& name) {
  for (int kind = 0; kind < static_cast<int>(Kind::Error); ++kind) {
    if (type_name(static_cast<Kind>(kind)) == name) return Val::type(static_cast<Kind>(kind));
  }
  return Val::error("unknown type " + name);
}

Val value_from(const Value& typed) {
  const std::string type = text_of(typed, "t");
  const Value* content = typed.find("v");
  if (type == "null") return Val::null();
  if (type == "bool") return Val::boolean(content->as_bool());
  if (type == "int") return Val::integer(number_of<int64_t>(typed, "v"));
  if (type == "uint") return Val::uint(number_of<uint64_t>(typed, "v"));
  if (type == "double") return Val::real(double_of(typed));
  if (type == "string") return Val::string(content->as_string());
  if (type == "bytes") return decode_base64(text_of(typed, "b64"));
  if (type == "type") return type_from(content->as_string());
  if (type == "list") {
    std::vector<Val> elements;
    for (const Value& element : content->as_array()) elements.push_back(value_from(element));
    return Val::list(std::move(elements));
  }
  if (type == "map") {
    auto* node = new MapNode;
    for (const Value& entry : content->as_array()) {
      node->insert(value_from(entry.as_array()[0]), value_from(entry.as_array()[1]));
    }
    return Val::map(node);
  }
  const Value* nanos = typed.find("nanos");
  const int64_t nanos_value = nanos != nullptr && nanos->is_int() ? nanos->as_int() : 0;
  const int64_t seconds = number_of<int64_t>(typed, "seconds");
  if (type == "timestamp") return Val::timestamp(seconds, static_cast<uint32_t>(nanos_value));
  if (type == "duration") return Val::duration(seconds * 1'000'000'000 + nanos_value);
  return Val::error("cannot decode a value of type " + type);
}

// Stricter than CEL's ==: kinds must agree, doubles by bits except that all NaN are one.
bool identical(const Val& a, const Val& b) {
  Budget budget;
  if (a.kind() != b.kind()) return false;
  if (a.is(Kind::Double)) {
    if (std::isnan(a.as_double())) return std::isnan(b.as_double());
    return a.as_double() == b.as_double() &&
           std::signbit(a.as_double()) == std::signbit(b.as_double());
  }
  if (a.is(Kind::List)) {
    if (a.list_size() != b.list_size()) return false;
    for (size_t i = 0; i < a.list_size(); ++i) {
      if (!identical(a.list_at(i), b.list_at(i))) return false;
    }
    return true;
  }
  if (a.is(Kind::Map)) {
    if (a.map_size() != b.map_size()) return false;
    for (size_t i = 0; i < a.map_size(); ++i) {
      const auto [key, value] = a.map_at(i);
      const Val twin = b.map_find(key);
      if (twin.is_absent() || !identical(value, twin)) return false;
    }
    return true;
  }
  return equal(a, b, budget);
}

// "int", {"list": T}, {"map": [K, V]}, {"param": "T"}, {"type": T}, {"abstract": name, "params":
// [T…]}.
Type static_type_from(const Value& json) {
  if (json.is_string()) {
    const std::string& name = json.as_string();
    if (name == "google.protobuf.Timestamp") return Type::named("timestamp");
    if (name == "google.protobuf.Duration") return Type::named("duration");
    if (name == "null_type") return Type::named("null");
    return name == "dyn" ? Type::dyn() : Type::named(name);
  }
  if (const Value* element = json.find("list")) return Type::list(static_type_from(*element));
  if (const Value* pair = json.find("map")) {
    return Type::map(static_type_from(pair->as_array()[0]), static_type_from(pair->as_array()[1]));
  }
  if (const Value* of = json.find("type")) return Type::named("type", {static_type_from(*of)});
  if (json.find("param") != nullptr) return Type::param(text_of(json, "param"));
  if (json.find("abstract") == nullptr) return Type::dyn();
  Type type = Type::named(text_of(json, "abstract"));
  if (const Value* params = json.find("params")) {
    for (const Value& param : params->as_array()) type.params.push_back(static_type_from(param));
  }
  return type;
}

Declarations declarations_from(const Value& test) {
  Declarations declarations;
  declarations.container = text_of(test, "container");
  if (const Value* bindings = test.find("bindings")) {
    for (const Value::Member& binding : bindings->as_object())
      declarations.variables[binding.key] = Type::dyn();
  }
  const Value* listed = test.find("type_env");
  if (listed == nullptr) return declarations;
  for (const Value& declaration : listed->as_array()) {
    const std::string name = text_of(declaration, "name");
    if (const Value* variable = declaration.find("ident"))
      declarations.variables[name] = static_type_from(*variable);
    const Value* overloads = declaration.find("overloads");
    if (overloads == nullptr) continue;
    for (const Value& json : overloads->as_array()) {
      Overload overload;
      overload.receiver = flag_of(json, "instance");
      overload.result = static_type_from(*json.find("result"));
      for (const Value& param : json.find("params")->as_array())
        overload.arguments.push_back(static_type_from(param));
      declarations.functions[name].push_back(std::move(overload));
    }
  }
  return declarations;
}

Result<Type> check_case(const Value& test) {
  const std::string source = text_of(test, "expr");
  PAWL_TRY(const Ast ast, parse(source));
  return check(source, ast, declarations_from(test));
}

// Why the case fails, or nothing if it passes.
std::string judge(const Value& test) {
  const Value* expect = test.find("expect");
  if (expect == nullptr) return "the case states no expectation";
  const Value* wanted = expect->find("value");
  const bool error_wanted =
      expect->find("error") != nullptr || expect->find("any_error") != nullptr;

  CompileOptions options;
  options.container = text_of(test, "container");
  options.late_binding = true;
  Variables variables;
  if (const Value* bindings = test.find("bindings")) {
    for (const Value::Member& binding : bindings->as_object())
      variables.set(binding.key, value_from(binding.value));
  }
  if (!flag_of(test, "disable_check")) {
    const Result<Type> type = check_case(test);
    if (!type.ok())
      return error_wanted ? "" : "expected no type error, got: " + type.error().message;
    if (const Value* deduced = expect->find("deduced_type");
        deduced != nullptr && *type != static_type_from(*deduced)) {
      return "expected type " + static_type_from(*deduced).text() + ", got " + type->text();
    }
  }
  if (flag_of(test, "check_only")) return error_wanted ? "expected a type error" : "";

  const auto run = [&]() -> Result<Val> {
    PAWL_TRY(auto program, Program::compile(text_of(test, "expr"), options));
    Budget budget;
    return program->evaluate(variables, budget);
  };
  const Result<Val> got = run();
  if (error_wanted) return got.ok() ? "expected an error, got " + show(*got) : "";
  if (wanted == nullptr) return "the case expects something this runner does not know";
  const Val value = value_from(*wanted);
  if (!got.ok()) return "expected " + show(value) + ", got error: " + got.error().message;
  return identical(*got, value) ? "" : "expected " + show(value) + ", got " + show(*got);
}

int run_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  const std::string content = text.str();
  const Result<Value> document = Value::parse(content);
  if (!file || !document.ok() || document->find("cases") == nullptr ||
      !document->find("cases")->is_array()) {
    std::cerr << path << ": "
              << (document.ok() ? "expected an object with a list \"cases\""
                                : document.error().message)
              << "\n";
    return 2;
  }
  size_t passed = 0;
  size_t failed = 0;
  for (const Value& test : document->find("cases")->as_array()) {
    const std::string failure = judge(test);
    if (failure.empty()) {
      ++passed;
      continue;
    }
    ++failed;
    std::cout << "FAILED " << text_of(test, "file") << "/" << text_of(test, "section") << "/"
              << text_of(test, "name") << ": " << text_of(test, "expr") << "\n    " << failure
              << "\n";
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pawl::expr

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: cel_conformance FILE.json\n";
    return 2;
  }
  return pawl::expr::run_file(argv[1]);
}
