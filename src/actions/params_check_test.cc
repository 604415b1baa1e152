#include <gtest/gtest.h>

#include "actions/testing/action_world.h"

namespace pawl::actions {
namespace {

std::string checked(const std::string& action, const std::string& params) {
  const ActionInfo* info = find_action(action);
  if (info == nullptr) return "no such action";
  Value value = json(params);
  Status good = check_params(*info, value);
  return good.ok() ? value.json() : std::string(wire_code(good.error().code));
}

TEST(Registry, HasEveryActionOfTheLanguage) {
  std::string names;
  for (const ActionInfo& info : builtin_actions()) {
    names += info.name + (info.pure ? "=" : info.by_engine ? "@" : "") + " ";
    EXPECT_FALSE(info.description.empty()) << info.name;
    EXPECT_TRUE(info.params_schema.is_object() && info.output_schema.is_object()) << info.name;
  }
  EXPECT_EQ(names,
            "http.request http.get http.post fs.read fs.write fs.append fs.delete fs.list fs.stat "
            "fs.copy fs.move shell.exec crypto.hash= crypto.hmac= crypto.uuid= assert.equals= "
            "assert.contains= assert.matches= assert.schema= expr.eval= jq= workflow.run@ "
            "workflow.emit@ workflow.context@ workflow.fail@ workflow.log@ workflow.notify@ ");
  EXPECT_EQ(find_action("http.delete"), nullptr);
}

TEST(CheckParams, TurnsScalarsIntoWhatIsDeclared) {
  EXPECT_EQ(checked("fs.read", R"({"path":12})"), R"({"path":"12"})");
  EXPECT_EQ(checked("fs.read", R"({"path":1e3})"), R"({"path":"1000"})");
  EXPECT_EQ(checked("shell.exec", R"({"command":"x","args":[1,true,2.5],"env":{"A":1}})"),
            R"({"command":"x","args":["1","true","2.5"],"env":{"A":"1"}})");
  EXPECT_EQ(checked("http.get", R"({"url":"u","max_redirects":"3","follow_redirects":"false"})"),
            R"({"url":"u","max_redirects":3,"follow_redirects":false})");
  EXPECT_EQ(checked("http.get", R"({"url":"u","timeout":5,"headers":null,"body":null})"),
            R"({"url":"u","timeout":5,"body":null})");
  EXPECT_EQ(checked("assert.equals", R"({"expected":null,"actual":1})"),
            R"({"expected":null,"actual":1})");
}

TEST(CheckParams, RefusesWhatDoesNotFit) {
  EXPECT_EQ(checked("fs.read", R"({})"), "validation_error");
  EXPECT_EQ(checked("fs.read", R"({"path":null})"), "validation_error");
  EXPECT_EQ(checked("fs.read", R"({"path":""})"), "validation_error");
  EXPECT_EQ(checked("fs.read", R"({"path":["a"]})"), "validation_error");
  EXPECT_EQ(checked("fs.read", R"({"path":"a","encoding":"utf16"})"), "validation_error");
  EXPECT_EQ(checked("fs.read", R"([1])"), "validation_error");
  EXPECT_EQ(checked("http.get", R"({"url":"u","max_redirects":"many"})"), "validation_error");
  EXPECT_EQ(checked("http.get", R"({"url":"u","max_redirects":-1})"), "validation_error");
  EXPECT_EQ(checked("shell.exec", R"({"command":"x","args":"y"})"), "validation_error");
  EXPECT_EQ(checked("assert.equals", R"({"expected":1})"), "validation_error");
}

TEST(CheckParams, SaysWhatIsWrongWithWhich) {
  Value params = json(R"({"encoding":"utf16"})");
  Status bad = check_params(*find_action("fs.read"), params);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message.substr(0, 8), "fs.read:");
  EXPECT_NE(bad.error().message.find("path"), std::string::npos) << bad.error().message;
  EXPECT_NE(bad.error().message.find("encoding"), std::string::npos) << bad.error().message;
}

TEST(CheckParams, UnknownNamesAreIgnoredAndKnown) {
  EXPECT_EQ(checked("fs.stat", R"({"path":"a","colour":"red"})"), R"({"path":"a","colour":"red"})");
  EXPECT_EQ(unknown_params(*find_action("fs.stat"), json(R"({"path":"a","colour":"red"})")),
            std::vector<std::string>{"colour"});
  EXPECT_TRUE(
      unknown_params(*find_action("workflow.log"), json(R"({"message":"m","x":1})")).empty());
  ActionInfo strict;
  strict.name = "mine";
  strict.params_schema = json(R"({"type":"object","additionalProperties":false})");
  Value params = json(R"({"x":1})");
  EXPECT_FALSE(check_params(strict, params).ok());
}

TEST(CheckParams, EmitGoesByThreeNames) {
  EXPECT_EQ(checked("workflow.emit", R"({"event_type":"e"})"), R"({"event_type":"e"})");
  EXPECT_EQ(checked("workflow.emit", R"({"event":"e","data":1})"), R"({"event":"e","data":1})");
  EXPECT_EQ(checked("workflow.emit", R"({"signal":"e"})"), R"({"signal":"e"})");
  EXPECT_EQ(checked("workflow.emit", R"({"payload":1})"), "validation_error");
}

TEST(BreakerKey, NamesThePlaceThatIsReached) {
  EXPECT_EQ(breaker_key("http.get", json(R"({"url":"https://API.example.com:8443/x?y"})")),
            "http.get api.example.com");
  EXPECT_EQ(breaker_key("http.get", json(R"({"url":"nonsense"})")), "http.get");
  EXPECT_EQ(breaker_key("http.get", Value()), "http.get");
  EXPECT_EQ(breaker_key("fs.read", json(R"({"path":"/a"})")), "fs.read");
  EXPECT_EQ(breaker_key("shell.exec", json(R"({"command":"git push"})")), "shell.exec git");
  const std::string host(5000, 'x');
  const std::string cut = breaker_key("http.get", json(R"({"url":"https://)" + host + "\"}"));
  EXPECT_EQ(cut.size(), kBreakerKeyBytesMax);
  EXPECT_NE(cut, breaker_key("http.get", json(R"({"url":"https://y)" + host + "\"}")));
}

}  // namespace
}  // namespace pawl::actions
