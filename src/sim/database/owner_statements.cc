#include "sim/database/owner_statements.h"

#include "store/postgres_schema.h"

namespace pawl::sim::statements {

// --- who owns a partition

StatementResult read_owner(Call& call) {
  const OwnerRow* row = call.owner_row();
  if (row == nullptr) return {};
  return one_row({number_cell(row->epoch), row->node, row->incarnation,
                  number_cell(row->trim_before), number_cell(row->first_segment)});
}

StatementResult lock_node_at_beat(Call& call) {
  auto stands = [&] {
    const auto row = call.host.tables().nodes.find(call.values.bytes(0));
    return row != call.host.tables().nodes.end() &&
           row->second.incarnation == call.values.bytes(1) &&
           row->second.beat == call.values.number(2);
  };
  if (!stands()) return {};
  if (!call.host.lock(node_row(call.values.bytes(0)), RowLock::Share)) return held_row();
  if (!stands()) return {};
  return one_row({number_cell(1)});
}

// Locks the row if it has the epoch of $2; false in `matches` if it has another.
StatementResult lock_owner_row(Call& call, RowLock mode, bool& matches) {
  auto has_epoch = [&] {
    const OwnerRow* row = call.owner_row();
    return row != nullptr && row->epoch == call.values.number(1);
  };
  matches = has_epoch();
  if (!matches) return {};
  if (!call.host.lock(partition_row(call.partition()), mode)) return held_row();
  matches = has_epoch();
  return {};
}

StatementResult take_row(Call& call) {
  bool matches = false;
  if (StatementResult held = lock_owner_row(call, RowLock::Update, matches);
      !held.sql_state.empty() || !matches)
    return held;
  const bool raises = call.sql.find("epoch = epoch + 1") != std::string_view::npos;
  const uint64_t epoch = call.values.number(1) + (raises ? 1 : 0);
  call.host.change({[id = call.partition(), epoch, node = call.values.bytes(2),
                     incarnation = call.values.bytes(3)](Tables& tables) {
    OwnerRow& row = tables.partitions[id];
    row.epoch = epoch;
    row.node = node;
    row.incarnation = incarnation;
  }});
  call.host.note_taken(call.partition());
  return one_row({number_cell(epoch)});
}

namespace {

// Its number of the text, if it has one, is of the segment that must hold record $5.
StatementResult note_row(Call& call, bool free) {
  if (!call.numbers.empty()) {
    if (call.host.tables().journals.count(call.numbers[0]) == 0)
      return no_table(segment_table(call.numbers[0]));
    if (!call.host.tables().has_record(call.numbers[0], call.partition(), call.values.number(4)))
      return {};
  }
  bool matches = false;
  if (StatementResult held = lock_owner_row(call, RowLock::Update, matches);
      !held.sql_state.empty() || !matches)
    return held;
  call.host.change(
      {[id = call.partition(), trim_before = call.values.number(2),
        first_segment = static_cast<uint32_t>(call.values.number(3)), free](Tables& tables) {
        OwnerRow& row = tables.partitions[id];
        row.trim_before = trim_before;
        row.first_segment = first_segment;
        if (!free) return;
        ++row.epoch;
        row.node.clear();
        row.incarnation.clear();
      }});
  if (free) call.host.note_taken(call.partition());
  return one_row({number_cell(call.values.number(1) + (free ? 1 : 0))});
}
}  // namespace

StatementResult note_progress(Call& call) { return note_row(call, false); }
StatementResult give_up(Call& call) { return note_row(call, true); }

StatementResult terminate(Call& call) {
  call.host.end_sessions(call.values.bytes(0));
  return {};
}

StatementResult read_owners(Call& call) {
  StatementResult result;
  for (const auto& [id, row] : call.host.tables().partitions)
    result.rows.push_back({number_cell(id), number_cell(row.epoch), row.node, row.incarnation});
  return result;
}

// --- nodes

StatementResult enter_node(Call& call) {
  const std::string name = call.values.bytes(0);
  if (!call.host.lock(node_row(name), RowLock::Update)) return held_row();
  const auto row = call.host.tables().nodes.find(name);
  if (row != call.host.tables().nodes.end() && row->second.incarnation != call.values.bytes(4))
    return {};
  NodeRow entered{.incarnation = call.values.bytes(1),
                  .url = call.values.bytes(2),
                  .version = call.values.bytes(3),
                  .started_ms = call.host.now_ms(),
                  .beat = 1,
                  .last_seen_ms = call.host.now_ms(),
                  .draining = row != call.host.tables().nodes.end() ? row->second.draining
                                                                    : call.values.number(6) == 1};
  call.host.change({[name, entered](Tables& tables) { tables.nodes[name] = entered; }});
  return one_row({number_cell(1)});
}

StatementResult beat(Call& call) {
  const auto before = call.host.tables().nodes;  // what the rest of the statement sees
  const std::string name = call.values.bytes(0);
  auto is_ours = [&] {
    const auto row = call.host.tables().nodes.find(name);
    return row != call.host.tables().nodes.end() && row->second.incarnation == call.values.bytes(1);
  };
  bool beaten = is_ours();
  if (beaten && !call.host.lock(node_row(name), RowLock::Update)) return held_row();
  beaten = beaten && is_ours();
  if (beaten)
    call.host.change(
        {[name, now_ms = call.host.now_ms(), stages = call.values.bytes(2)](Tables& tables) {
          NodeRow& row = tables.nodes[name];
          ++row.beat;
          row.stages = stages;
          row.last_seen_ms = now_ms;
        }});
  StatementResult result;
  for (const auto& [node, row] : before)
    result.rows.push_back({number_cell(beaten ? 1 : 0), node, row.incarnation,
                           number_cell(row.beat), row.url, row.version,
                           number_cell(static_cast<uint64_t>(row.started_ms)),
                           number_cell(static_cast<uint64_t>(row.last_seen_ms)),
                           number_cell(row.draining ? 1 : 0), row.stages});
  return result;
}

StatementResult set_draining(Call& call) {
  const std::string name = call.values.bytes(0);
  if (call.host.tables().nodes.count(name) == 0) return {};
  if (!call.host.lock(node_row(name), RowLock::Update)) return held_row();
  if (call.host.tables().nodes.count(name) == 0) return {};
  call.host.change({[name, draining = call.values.number(1) == 1](Tables& tables) {
    tables.nodes[name].draining = draining;
  }});
  return one_row({number_cell(1)});
}

StatementResult sweep(Call& call) {
  const int64_t before_ms = call.host.now_ms() - 600'000;
  for (const auto& [name, row] : std::map(call.host.tables().nodes))
    if (row.last_seen_ms < before_ms) {
      if (!call.host.lock(node_row(name), RowLock::Update)) return held_row();
      call.host.change({[name, before_ms](Tables& tables) {
        const auto found = tables.nodes.find(name);
        if (found != tables.nodes.end() && found->second.last_seen_ms < before_ms)
          tables.nodes.erase(found);
      }});
    }
  return {};
}

StatementResult leave_node(Call& call) {
  const std::string name = call.values.bytes(0);
  if (!call.host.lock(node_row(name), RowLock::Update)) return held_row();
  call.host.change({[name, incarnation = call.values.bytes(1)](Tables& tables) {
    const auto found = tables.nodes.find(name);
    if (found != tables.nodes.end() && found->second.incarnation == incarnation)
      tables.nodes.erase(found);
  }});
  return {};
}

}  // namespace pawl::sim::statements
