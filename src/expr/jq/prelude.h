// The builtins that are simplest to write in jq itself.
#pragma once

#include <string_view>

namespace pawl::expr::jq {

inline constexpr std::string_view kPrelude = R"jq(
def map(f): [.[] | f];
def map_values(f): .[] |= f;
def select(f): if f then . else empty end;
def values: select(. != null);
def nulls: select(. == null);
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def strings: select(type == "string");
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type | . == "array" or . == "object");
def scalars: select(type | . != "array" and . != "object");
def finites: select(isinfinite or isnan | not);
def normals: select(isnormal);
def recurse(f; cond): recurse(f | select(cond));
def recurse_down: recurse;
def first: .[0];
def last: .[-1];
def nth($n): .[$n];
def nth($n; f): if $n < 0 then error("Out of bounds negative array index") else last(limit($n + 1; f)) end;
def skip($n; f): if $n > 0 then foreach f as $x ($n + 1; . - 1; if . <= 0 then $x else empty end) else f end;
def in(x): . as $k | x | has($k);
def inside(x): . as $part | x | contains($part);
def with_entries(f): to_entries | map(f) | from_entries;
def del(f): delpaths([path(f)]);
def paths: path(..) | select(length > 0);
def paths(f): path(.. | select(f)) | select(length > 0);
def leaf_paths: paths(scalars);
def pick(f): . as $top | reduce path(f) as $p (null; setpath($p; $top | getpath($p)));
def walk(f): def w: if type == "object" then map_values(w) elif type == "array" then map(w) else . end | f; w;
def env: {};
def combinations: if length == 0 then [] else .[0][] as $x | .[1:] | combinations as $w | [$x] + $w end;
def combinations(n): . as $dot | [range(n)] | map($dot) | combinations;
def tostream: path(def r: (.[]? | r), .; r) as $p | getpath($p) | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
def fromstream(f): {x: null, e: false} as $init
  | foreach f as $i ($init;
      if .e then $init else . end
      | if $i | length == 2
        then setpath(["e"]; $i[0] | length == 0) | setpath(["x"] + $i[0]; $i[1])
        else setpath(["e"]; $i[0] | length == 1) end;
      if .e then .x else empty end);
def truncate_stream(f): . as $n | null | f | . as $input
  | if (.[0] | length) > $n then setpath([0]; .[0][$n:]) else empty end;
def isvalid(f): try (f | true) catch false;
def ascii: [.] | implode;
def todate: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdateiso8601: strptime("%Y-%m-%dT%H:%M:%SZ") | mktime;
def todateiso8601: todate;
def fromdate: fromdateiso8601;
def date: todate;
def dateiso8601: todate;
def splits($re): splits($re; null);
def splits($re; flags): split($re; flags) | .[];
def match($re): _match($re; null) | .[];
def match($re; $flags): _match($re; $flags) | .[];
def scan($re): scan($re; null);
def scan($re; $flags): match($re; "g" + $flags)
  | if (.captures | length) > 0 then [.captures[].string] else .string end;
def capture($re): capture($re; null);
def capture($re; $flags): match($re; $flags)
  | [.captures | .[] | select(.name != null) | {key: .name, value: .string}] | from_entries;
def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] |= $row);
def INDEX(f): INDEX(.[]; f);
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def have_literal_numbers: false;
def have_decnum: false;
)jq";

}  // namespace pawl::expr::jq
