#include "store/sqlite_large.h"

namespace pawl {

Result<LargeWriter> LargeWriter::open(Connection& db, uint64_t packed_bytes_min) {
  LargeWriter writer;
  writer.packed_bytes_min_ = packed_bytes_min;
  writer.db_ = db.handle();
  PAWL_TRY(writer.find_, db.prepare("SELECT value FROM kv WHERE space = ?1 AND key = ?2"
                                    " AND typeof(value) = 'integer'"));
  PAWL_TRY(writer.remove_, db.prepare("DELETE FROM large WHERE number = ?1"));
  PAWL_TRY(writer.insert_, db.prepare("INSERT INTO large(bytes, unpacked) VALUES (?1, ?2)"));
  PAWL_TRY(writer.note_space_, db.prepare("INSERT OR IGNORE INTO large_spaces(space) VALUES (?1)"));
  PAWL_TRY(Statement spaces, db.prepare("SELECT space FROM large_spaces"));
  int code = SQLITE_ROW;
  while ((code = spaces.step()) == SQLITE_ROW) writer.spaces_.set(spaces.number(0) & 255);
  if (code != SQLITE_DONE) return db.error(code, "reading which rows are large");
  return writer;
}

int LargeWriter::forget(uint64_t space, std::string_view key) {
  if (!spaces_[space]) return SQLITE_OK;
  uint64_t number = 0;
  {
    const ResetLater reset(find_);
    find_.bind(1, space);
    find_.bind(2, key);
    const int code = find_.step();
    if (code != SQLITE_ROW) return code == SQLITE_DONE ? SQLITE_OK : code;
    number = find_.number(0);
  }
  remove_.bind(1, number);
  return remove_.run();
}

void bind_packed(Statement& statement, int index, std::string_view bytes, uint64_t packed_bytes_min,
                 PackingRoom& room) {
  const Packed packed = bytes.size() < packed_bytes_min ? Packed{bytes} : pack(bytes, room);
  statement.bind(index, packed.bytes);
  if (packed.unpacked != 0) {
    statement.bind(index + 1, packed.unpacked);
  } else {
    statement.bind_null(index + 1);
  }
}

int LargeWriter::keep(uint64_t space, std::string_view bytes, uint64_t& number) {
  if (!spaces_[space]) {
    note_space_.bind(1, space);
    if (const int code = note_space_.run(); code != SQLITE_OK) return code;
    spaces_.set(space);
  }
  PackingRoom room;
  bind_packed(insert_, 1, bytes, packed_bytes_min_, room);
  if (const int code = insert_.run(); code != SQLITE_OK) return code;
  number = static_cast<uint64_t>(sqlite3_last_insert_rowid(db_));
  return SQLITE_OK;
}

Packed packed_in(const Statement& row, int column) {
  return {row.bytes(column), row.is_number(column + 1) ? row.number(column + 1) : 0};
}

Result<std::string_view> whole_value(const Connection& db, const Statement& row, int column,
                                     Statement& large, PackingRoom& room) {
  if (!row.is_number(column)) return row.bytes(column);
  large.bind(1, row.number(column));
  const int code = large.step();
  if (code == SQLITE_ROW) return unpack(packed_in(large, 0), room);
  if (code != SQLITE_DONE) return db.error(code, "reading a large row");
  return Error{ErrorCode::Corrupt, "the bytes of a large row are missing"};
}

}  // namespace pawl
