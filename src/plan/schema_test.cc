// The published schema and the reader must know the same names.
#include <gtest/gtest.h>

#include <set>

#include "plan/definition.h"
#include "plan/field_names.h"

namespace pawl::plan {
namespace {

std::set<std::string> schema_names(std::string_view definition) {
  std::set<std::string> out;
  const Value* defs = definition_schema().find("$defs");
  const Value* object = defs == nullptr ? nullptr : defs->find(definition);
  const Value* properties = object == nullptr ? nullptr : object->find("properties");
  if (properties == nullptr) return out;
  for (const Value::Member& member : properties->as_object()) out.insert(member.key);
  return out;
}

std::set<std::string> reader_names(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

TEST(Schema, KnowsTheNamesTheReaderKnows) {
  EXPECT_EQ(schema_names("file"), reader_names(names::kFile));
  EXPECT_EQ(schema_names("definition"), reader_names(names::kDefinition));
  EXPECT_EQ(schema_names("inner_step"), reader_names(names::kStep));
  EXPECT_EQ(schema_names("retry"), reader_names(names::kRetry));
  EXPECT_EQ(schema_names("capability_config"), reader_names(names::kCapability));
  EXPECT_EQ(schema_names("condition_config"), reader_names(names::kCondition));
  EXPECT_EQ(schema_names("loop_config"), reader_names(names::kLoop));
  EXPECT_EQ(schema_names("map_config"), reader_names(names::kMap));
  EXPECT_EQ(schema_names("parallel_config"), reader_names(names::kParallel));
  EXPECT_EQ(schema_names("sequence_config"), reader_names(names::kSequence));
  EXPECT_EQ(schema_names("wait_config"), reader_names(names::kWait));
  EXPECT_EQ(schema_names("reasoning_config"), reader_names(names::kReasoning));
  EXPECT_EQ(schema_names("decision_config"), reader_names(names::kDecision));
  EXPECT_EQ(schema_names("job_config"), reader_names(names::kJob));
  EXPECT_EQ(schema_names("agent_config"), reader_names(names::kAgent));
  EXPECT_EQ(schema_names("subworkflow_config"), reader_names(names::kSubworkflow));
}

// Every reference inside the schema leads somewhere.
void check_references(const Value& value, const Value& defs) {
  if (value.is_array()) {
    for (const Value& element : value.as_array()) check_references(element, defs);
  }
  if (!value.is_object()) return;
  for (const Value::Member& member : value.as_object()) {
    if (member.key == "$ref" && member.value.is_string()) {
      const std::string name = member.value.as_string().substr(std::string("#/$defs/").size());
      EXPECT_NE(defs.find(name), nullptr) << name;
    }
    check_references(member.value, defs);
  }
}

TEST(Schema, ReferencesLeadSomewhere) {
  const Value* defs = definition_schema().find("$defs");
  ASSERT_NE(defs, nullptr);
  check_references(definition_schema(), *defs);
}

}  // namespace
}  // namespace pawl::plan
