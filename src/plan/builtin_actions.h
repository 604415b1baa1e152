// The built-in actions: their names, who does each, and their parameters and outputs as JSON Schema
// text. The one list of them: a definition's steps are compiled with what it says, so that nothing
// behind it asks for a name. What actions::check_params lets through is what the actions rely on.
#pragma once

#include <string_view>

#include "plan/action_kind.h"

namespace pawl::plan {

struct BuiltinAction {
  std::string_view name;
  std::string_view description;
  ActionKind kind;
  std::string_view params;    // the value of "properties"
  std::string_view required;  // the value of "required"
  std::string_view output;    // the value of "properties"
};

inline constexpr std::string_view kHttpParams = R"({
  "url": {"type": "string", "minLength": 1, "description": "http or https address"},
  "method": {"type": "string", "default": "GET"},
  "headers": {"type": "object", "additionalProperties": {"type": "string"}},
  "query": {"type": ["object", "string"], "description": "query parameters; an array repeats its name"},
  "body": {},
  "body_encoding": {"type": "string", "enum": ["json", "form", "text", "raw"], "default": "json"},
  "auth": {"type": "object", "properties": {
    "type": {"type": "string", "enum": ["bearer", "basic", "api_key"]},
    "token": {"type": "string"}, "username": {"type": "string"}, "password": {"type": "string"},
    "header_name": {"type": "string"}, "header_value": {"type": "string"}}},
  "timeout": {"type": ["string", "number"], "default": "30s"},
  "follow_redirects": {"type": "boolean", "default": true},
  "max_redirects": {"type": "integer", "minimum": 0, "maximum": 50, "default": 10},
  "tls_skip_verify": {"type": "boolean", "default": false},
  "fail_on_error_status": {"type": "boolean", "default": false}
})";

inline constexpr std::string_view kHttpOutput = R"({
  "status_code": {"type": "integer"}, "status": {"type": "string"},
  "headers": {"type": "object", "additionalProperties": {"type": "string"}},
  "body": {"description": "parsed if it is JSON, null if empty"},
  "body_encoding": {"type": "string", "enum": ["base64"], "description": "only if the body is no text"},
  "content_type": {"type": "string"}, "duration_ms": {"type": "integer"}
})";

inline constexpr std::string_view kSrcDstParams = R"({
  "src": {"type": "string", "minLength": 1}, "dst": {"type": "string", "minLength": 1},
  "create_dirs": {"type": "boolean", "default": false}
})";

inline constexpr std::string_view kSrcDstOutput = R"({
  "src": {"type": "string"}, "dst": {"type": "string"},
  "size": {"type": "integer"}, "is_dir": {"type": "boolean"}
})";

inline constexpr std::string_view kPathSizeOutput =
    R"({"path": {"type": "string"}, "size": {"type": "integer"}})";

inline constexpr std::string_view kPassOutput = R"({"pass": {"const": true}})";

inline constexpr BuiltinAction kBuiltinActions[] = {
    {"http.request", "Send an HTTP request.", ActionKind::Outside, kHttpParams, R"(["url"])",
     kHttpOutput},
    {"http.get", "Send an HTTP GET request.", ActionKind::Outside, kHttpParams, R"(["url"])",
     kHttpOutput},
    {"http.post", "Send an HTTP POST request.", ActionKind::Outside, kHttpParams, R"(["url"])",
     kHttpOutput},
    {"fs.read", "Read a file, as text or as base64.", ActionKind::Outside,
     R"({"path": {"type": "string", "minLength": 1},
         "encoding": {"type": "string", "enum": ["auto", "text", "base64"], "default": "auto"}})",
     R"(["path"])",
     R"({"path": {"type": "string"}, "content": {"type": "string"},
         "encoding": {"type": "string", "enum": ["text", "base64"]}, "size": {"type": "integer"}})"},
    {"fs.write", "Write a file, as a whole or not at all; what is no text is written as JSON.",
     ActionKind::Outside,
     R"({"path": {"type": "string", "minLength": 1}, "content": {},
         "create_dirs": {"type": "boolean", "default": false},
         "mode": {"type": ["integer", "string"], "default": 420,
                  "description": "permissions as a number, or as octal text such as 0644"}})",
     R"(["path", "content"])", kPathSizeOutput},
    {"fs.append", "Append to a file; it is created if it is not there.", ActionKind::Outside,
     R"({"path": {"type": "string", "minLength": 1}, "content": {}})", R"(["path", "content"])",
     kPathSizeOutput},
    {"fs.delete", "Delete a file or a directory.", ActionKind::Outside,
     R"({"path": {"type": "string", "minLength": 1},
         "recursive": {"type": "boolean", "default": false}})",
     R"(["path"])", R"({"path": {"type": "string"}, "deleted": {"const": true}})"},
    {"fs.list", "List a directory.", ActionKind::Outside,
     R"({"path": {"type": "string", "minLength": 1},
         "pattern": {"type": "string", "description": "glob on the name"},
         "recursive": {"type": "boolean", "default": false}})",
     R"(["path"])",
     R"({"path": {"type": "string"}, "entries": {"type": "array", "items": {"type": "object",
         "properties": {"name": {"type": "string"}, "path": {"type": "string"},
         "size": {"type": "integer"}, "modified_at": {"type": "string", "format": "date-time"},
         "is_dir": {"type": "boolean"}}}}})"},
    {"fs.stat", "Size, time and permissions of a file or directory.", ActionKind::Outside,
     R"({"path": {"type": "string", "minLength": 1}})", R"(["path"])",
     R"({"path": {"type": "string"}, "size": {"type": "integer"},
         "modified_at": {"type": "string", "format": "date-time"}, "is_dir": {"type": "boolean"},
         "permissions": {"type": "string"}})"},
    {"fs.copy", "Copy a file or a directory.", ActionKind::Outside, kSrcDstParams,
     R"(["src", "dst"])", kSrcDstOutput},
    {"fs.move", "Move or rename a file or a directory.", ActionKind::Outside, kSrcDstParams,
     R"(["src", "dst"])", kSrcDstOutput},
    {"shell.exec", "Run a command. A non-zero exit code is a result, not a failure.",
     ActionKind::Outside,
     R"({"command": {"type": "string", "minLength": 1},
         "args": {"type": "array", "items": {"type": "string"}},
         "env": {"type": "object", "additionalProperties": {"type": "string"}},
         "cwd": {"type": "string"}, "stdin": {"type": "string"},
         "timeout": {"type": ["string", "number"], "default": "30s"},
         "shell": {"type": "boolean", "default": false, "description": "run by /bin/sh -c"}})",
     R"(["command"])",
     R"({"stdout": {"description": "parsed if it is JSON"}, "stdout_raw": {"type": "string"},
         "stderr": {"type": "string"}, "exit_code": {"type": "integer"},
         "duration_ms": {"type": "integer"}, "killed": {"type": "boolean"},
         "stdout_encoding": {"type": "string", "enum": ["base64"]},
         "stderr_encoding": {"type": "string", "enum": ["base64"]}})"},
    {"crypto.hash", "Digest of text, in hex.", ActionKind::Pure,
     R"({"data": {}, "algorithm": {"type": "string",
         "enum": ["sha256", "sha512", "sha384", "sha1", "md5"], "default": "sha256"}})",
     R"(["data"])", R"({"hash": {"type": "string"}, "algorithm": {"type": "string"}})"},
    {"crypto.hmac", "Keyed digest of text, in hex.", ActionKind::Pure,
     R"({"data": {}, "key": {"type": "string"}, "algorithm": {"type": "string",
         "enum": ["sha256", "sha512", "sha384", "sha1", "md5"], "default": "sha256"}})",
     R"(["data", "key"])", R"({"hmac": {"type": "string"}, "algorithm": {"type": "string"}})"},
    {"crypto.uuid", "A random UUID.", ActionKind::Pure, "{}", "[]",
     R"({"uuid": {"type": "string", "format": "uuid"}})"},
    {"assert.equals", "Fail unless two values are equal.", ActionKind::Pure,
     R"({"expected": {}, "actual": {}, "message": {"type": "string"}})",
     R"(["expected", "actual"])", kPassOutput},
    {"assert.contains", "Fail unless a string or an array contains something.", ActionKind::Pure,
     R"({"haystack": {"type": ["string", "array"]}, "needle": {}, "message": {"type": "string"}})",
     R"(["haystack", "needle"])", kPassOutput},
    {"assert.matches", "Fail unless text matches a regular expression (RE2).", ActionKind::Pure,
     R"({"value": {"type": "string"}, "pattern": {"type": "string"},
         "message": {"type": "string"}})",
     R"(["value", "pattern"])", R"({"pass": {"const": true}, "matches": {"type": "string"}})"},
    {"assert.schema", "Fail unless data is valid under a JSON Schema.", ActionKind::Pure,
     R"({"data": {}, "schema": {"type": ["object", "boolean"]}, "message": {"type": "string"}})",
     R"(["data", "schema"])", kPassOutput},
    {"expr.eval", "Evaluate an expression over data, inputs, steps and context.",
     ActionKind::Evaluation, R"({"expression": {"type": "string", "minLength": 1}, "data": {}})",
     R"(["expression"])", R"({"result": {}})"},
    {"jq", "Evaluate a jq expression: result is its first output, results are all of them.",
     ActionKind::Evaluation, R"({"expression": {"type": "string", "minLength": 1}, "data": {}})",
     R"(["expression"])", R"({"result": {}, "results": {"type": "array"}})"},
    {"workflow.run", "Run another definition and wait for it.", ActionKind::StartRun,
     R"({"template_name": {"type": "string", "minLength": 1}, "version": {"type": "string"},
         "params": {"type": "object"},
         "definition": {"type": "string", "description": "the same as template_name"},
         "name": {"type": "string", "description": "the same as template_name"},
         "inputs": {"type": "object", "description": "the same as params"}})",
     "[]", "{}"},
    {"workflow.emit", "Publish an event of the run.", ActionKind::Emit,
     R"({"event_type": {"type": "string", "minLength": 1}, "payload": {},
         "event": {"type": "string", "description": "the same as event_type"},
         "signal": {"type": "string", "description": "the same as event_type"},
         "data": {"description": "the same as payload"}})",
     "[]", R"({"emitted": {"const": true}})"},
    {"workflow.context", "Read or update what the run remembers.", ActionKind::Context,
     R"({"action": {"type": "string", "enum": ["read", "update"]},
         "workflow_id": {"type": "string"}, "data": {"type": "object"},
         "agent_notes": {"type": "string"}, "intent": {}})",
     R"(["action"])", "{}"},
    {"workflow.fail", "Fail, and not be tried again.", ActionKind::Fail,
     R"({"reason": {"type": "string"},
         "message": {"type": "string", "description": "the same as reason"}})",
     "[]", "{}"},
    {"workflow.log", "Write a line to the server's log. Other parameters become fields of it.",
     ActionKind::Log,
     R"({"message": {"type": "string"}, "level": {"type": "string",
         "enum": ["debug", "info", "warn", "warning", "error"], "default": "info"}, "data": {}})",
     R"(["message"])", R"({"logged": {"const": true}})"},
    {"workflow.notify", "Tell the agent of the run. Other parameters become data.",
     ActionKind::Notify, R"({"message": {"type": "string"}, "data": {}})", R"(["message"])",
     R"({"notified": {"type": "boolean"}, "reason": {"type": "string"}})"},
};

// Null if it is none of the server's own.
const BuiltinAction* find_builtin(std::string_view name);
// Whether the name begins like that of a built-in action ("http.", "jq").
bool is_builtin_family(std::string_view name);

}  // namespace pawl::plan
