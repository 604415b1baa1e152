#include "api/keyed_list.h"

#include "api/part_call.h"
#include "base/base64.h"
#include "base/hash.h"
#include "kernel/jobs/queue.h"
#include "kernel/state.h"

namespace pawl::api {

bool KeyedList::takes(std::string_view scoped) {
  return (tenant_.empty() || tenant_of_scoped(scoped) == tenant_) && takes_unscoped(scoped);
}

bool KeyedList::takes_unscoped(std::string_view key) {
  if (keeps_hashes_) {
    const uint64_t hash = hash64(key);
    hashes_.append(reinterpret_cast<const char*>(&hash), sizeof hash);
    keeps_hashes_ = hashes_.size() <= kPartNamesMax * sizeof hash;
    if (!keeps_hashes_) hashes_.clear();
  }
  if (!window_.takes(key)) return false;
  taken_.emplace_back(key);
  return true;
}

void KeyedList::each_key(const State& state, DocKind kind, size_t scan_max,
                         FunctionRef<bool(std::string_view)> visit) {
  const std::string& after = window_.after();
  bool going = true;
  state.each_doc_key(kind, after, scan_max,
                     [&](std::string_view key) { return key <= after || (going = visit(key)); });
  if (after.empty() || !going) return;
  state.each_doc_key(kind, "", scan_max,
                     [&](std::string_view key) { return key <= after && visit(key); });
}

bool KeyedList::spend(std::string_view key, size_t bytes) {
  bytes_read_ += bytes;
  if (bytes_read_ < kPageReadBytesMax) return true;
  window_.cut(key);
  return false;
}

void answer_keyed_list(App& app, Call&& call, std::vector<std::string_view> names,
                       size_t limit_default, std::function<void(const Frame&, KeyedList&)> walk) {
  PAWL_TRY_CALL(call, auto page, parse_page(call, limit_default));
  std::string tenant = call.tenant;
  Surface surface = call.surface();
  bool part = is_part(app, call);
  bool tells_names = part && call.request.header(kPartHeader) == kPartNames;
  app.decide_list(std::move(call),
                  [page, tenant, surface, part, tells_names, names = std::move(names),
                   walk = std::move(walk)](Frame& frame) -> Reply {
                    std::string items;
                    PAWL_TRY(PageWindow window, PageWindow::open(page, items));
                    KeyedList list(items, window, tenant);
                    if (tells_names) list.keep_hashes();
                    list.writer().begin_array();
                    walk(frame, list);
                    list.writer().end_array();
                    json::ObjectWriter w;
                    for (std::string_view name : names) w.field_raw(name, items);
                    if (part) {
                      w.key("part_keys").begin_array();
                      for (const std::string& key : list.taken()) w.string(key);
                      w.end_array();
                    }
                    if (!list.hashes().empty()) w.field("part_hashes", base64(list.hashes()));
                    write_pagination(w, page, window.end());
                    return json_response(surface, 200, w.close());
                  });
}

}  // namespace pawl::api
