#include "worlds/items.h"

#include "base/hash.h"
#include "worlds/hash.h"

namespace pawl::worlds {
namespace {

void put_u64(std::string& out, uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

void put_u32(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

std::string seq_key(char kind, uint64_t seq) {
  std::string out(1, kind);
  put_u64(out, seq);
  return out;
}

std::string place_key(char kind, uint64_t seq, uint32_t n) {
  std::string out = seq_key(kind, seq);
  put_u32(out, n);
  return out;
}

std::string name_key(char kind, std::string_view name) {
  std::string out;
  out.reserve(1 + name.size());
  out.push_back(kind);
  out.append(name);
  return out;
}

// module 0x00 key
bool split_name(std::string_view name, std::string& module, std::string& key) {
  const size_t end = name.find('\0');
  if (end == std::string_view::npos) return false;
  module.assign(name.substr(0, end));
  key.assign(name.substr(end + 1));
  return true;
}

}  // namespace

std::string_view status_name(InstanceStatus status) {
  switch (status) {
    case InstanceStatus::Running:
      return "running";
    case InstanceStatus::Waiting:
      return "waiting";
    case InstanceStatus::Completed:
      return "completed";
    case InstanceStatus::Failed:
      return "failed";
  }
  return "failed";
}

std::string_view proposal_state_name(ProposalState state) {
  switch (state) {
    case ProposalState::Submitted:
      return "submitted";
    case ProposalState::Shadowed:
      return "shadowed";
    case ProposalState::Approved:
      return "approved";
    case ProposalState::Rejected:
      return "rejected";
    case ProposalState::Applied:
      return "applied";
  }
  return "submitted";
}

uint32_t frame_checksum(uint64_t seq, const FrameRecords& frame) {
  std::string head;
  put_u64(head, seq);
  put_u64(head, static_cast<uint64_t>(frame.written_ms));
  uint32_t sum = crc32c(head);
  for (const JournalRecord& record : frame.records) {
    head.clear();
    head.push_back(static_cast<char>(record.kind));
    put_u64(head, record.bytes.size());
    sum = crc32c(record.bytes, crc32c(head, sum));
  }
  return sum;
}

std::string head_key() { return "h"; }
std::string frame_key(uint64_t seq) { return seq_key('f', seq); }
std::string intent_key(std::string_view hash) { return name_key('i', hash_bytes(hash)); }
std::string open_key(uint64_t seq, uint32_t n) { return place_key('o', seq, n); }
std::string settled_key(uint64_t seq, uint32_t n) { return place_key('z', seq, n); }
std::string client_key(std::string_view client_id) { return name_key('k', client_id); }
std::string proposal_key(uint64_t seq) { return seq_key('p', seq); }
std::string blob_key(std::string_view hash) { return name_key('b', hash_bytes(hash)); }
std::string node_key(std::string_view hash) { return name_key('n', hash_bytes(hash)); }
std::string adapter_key(std::string_view id) { return name_key('a', id); }
std::string work_key(std::string_view hash) { return name_key('w', hash_bytes(hash)); }

std::string instance_prefix(std::string_view module) {
  std::string out = name_key('c', module);
  if (!module.empty()) out.push_back('\0');
  return out;
}

std::string instance_key(std::string_view module, std::string_view key) {
  std::string out;
  out.reserve(2 + module.size() + key.size());
  out.push_back('c');
  out.append(module);
  out.push_back('\0');
  out.append(key);
  return out;
}

std::string ended_key(int64_t ended_ms, std::string_view module, std::string_view key) {
  std::string out = seq_key('e', static_cast<uint64_t>(ended_ms));
  out.append(module);
  out.push_back('\0');
  out.append(key);
  return out;
}

bool split_instance_key(std::string_view item_key, std::string& module, std::string& key) {
  return item_key.starts_with('c') && split_name(item_key.substr(1), module, key);
}

bool split_ended_key(std::string_view item_key, int64_t& ended_ms, std::string& module,
                     std::string& key) {
  if (item_key.size() < 9 || !item_key.starts_with('e')) return false;
  uint64_t value = 0;
  for (size_t i = 1; i < 9; ++i) value = value << 8 | static_cast<uint8_t>(item_key[i]);
  ended_ms = static_cast<int64_t>(value);
  return split_name(item_key.substr(9), module, key);
}

}  // namespace pawl::worlds
