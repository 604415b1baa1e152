#include "base/json_canonical.h"

#include <gtest/gtest.h>

namespace pawl::json {
namespace {

std::string canonical_text(std::string_view text) {
  auto doc = parse(text);
  return doc.ok() ? canonical(doc->root()) : doc.error().message;
}

TEST(CanonicalJson, SortsAndStrips) {
  EXPECT_EQ(canonical_text(R"( { "b" : [ 1 , true , null ] , "a" : "x\u0041" , "a": 2 } )"),
            R"({"a":2,"b":[1,true,null]})");
}

// Names that start above U+FFFF sort before U+E000…: by UTF-16, not by bytes.
TEST(CanonicalJson, OrdersNamesByUtf16) {
  EXPECT_EQ(canonical_text("{\"\uffff\":1,\"\U0001F600\":2,\"a\":3}"),
            "{\"a\":3,\"\U0001F600\":2,\"\uffff\":1}");
}

TEST(CanonicalJson, NumbersInTheirShortestForm) {
  EXPECT_EQ(
      canonical_text(
          "[1.0,-0,1e21,1e20,123456789.5,0.000001,1e-7,4.50,2e-3,100,333333333.33333329,-1.5e300]"),
      "[1,0,1e+21,100000000000000000000,123456789.5,0.000001,1e-7,4.5,0.002,100,333333333.3333333,-"
      "1.5e+300]");
}

}  // namespace
}  // namespace pawl::json
