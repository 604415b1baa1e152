#include "store/postgres_connection.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <thread>

namespace pawl::pg {
namespace {

constexpr uint32_t kByteaType = 17;
constexpr uint32_t kInt2Type = 21;

void put(std::string& out, uint64_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(value >> shift));
}

// The head of an array of one dimension without nulls, as array_recv reads it.
void put_array_head(std::string& out, uint32_t element, size_t size) {
  put(out, size == 0 ? 0 : 1, 4);  // dimensions
  put(out, 0, 4);                  // no nulls
  put(out, element, 4);
  if (size == 0) return;
  put(out, size, 4);
  put(out, 1, 4);  // the lower bound
}

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, text.find('\n')));
  return line.empty() ? "the server closed the connection" : line;
}

}  // namespace

Params& Params::number(uint64_t value, int size) {
  std::string bytes;
  put(bytes, value, size);
  return keep(std::move(bytes));
}

Params& Params::keep(std::string bytes) {
  kept_.push_back(std::make_unique<std::string>(std::move(bytes)));
  return this->bytes(*kept_.back());
}

Params& Params::bytes(std::string_view value) {
  // A null pointer would be an SQL null.
  values_.push_back({value.data() == nullptr ? "" : value.data(), static_cast<int>(value.size())});
  return *this;
}

Params& Params::int2_array(std::span<const int16_t> values) {
  std::string out;
  put_array_head(out, kInt2Type, values.size());
  for (int16_t value : values) {
    put(out, 2, 4);
    put(out, static_cast<uint64_t>(value), 2);
  }
  return keep(std::move(out));
}

Params& Params::bytes_array(std::span<const std::string_view> values) {
  size_t size = 20;
  for (std::string_view value : values) size += 4 + value.size();
  std::string out;
  out.reserve(size);
  put_array_head(out, kByteaType, values.size());
  for (std::string_view value : values) {
    put(out, value.size(), 4);
    out.append(value);
  }
  return keep(std::move(out));
}

Rows Rows::row(size_t at) const {
  PGresult* one = PQcopyResult(result_.get(), PG_COPYRES_ATTRS);
  for (int column = 0; column < PQnfields(one); ++column) {
    const std::string_view value = bytes(at, column);
    const int size = is_null(at, column) ? -1 : static_cast<int>(value.size());
    PQsetvalue(one, 0, column, const_cast<char*>(value.data()), size);
  }
  return Rows(one);
}

std::string_view Rows::bytes(size_t row, int column) const {
  const int at = static_cast<int>(row);
  return {PQgetvalue(result_.get(), at, column),
          static_cast<size_t>(PQgetlength(result_.get(), at, column))};
}

uint64_t Rows::number(size_t row, int column) const {
  uint64_t value = 0;
  for (char c : bytes(row, column)) value = value << 8 | static_cast<uint8_t>(c);
  return value;
}

void Access::pause(std::chrono::milliseconds time) const {
  if (server != nullptr) return server->pause(time);
  std::this_thread::sleep_for(time);
}

bool Connection::idle() const {
  if (!usable()) return false;
  return session_ ? !session_->in_transaction()
                  : PQtransactionStatus(handle_.get()) == PQTRANS_IDLE;
}

Result<Connection> Connection::open(const Access& access) {
  if (access.server != nullptr) {
    Connection connection;
    connection.session_ = access.server->connect(access);
    if (!connection.session_) return connection.lost("connecting");
    return connection;
  }
  const std::string seconds =
      std::to_string(std::max<int64_t>(2, access.silence.count() / 1000));  // libpq takes no less
  const std::string silence = std::to_string(access.silence.count());
  const std::array<const char*, 8> names = {
      "dbname",          "application_name",     "connect_timeout", "tcp_user_timeout",
      "client_encoding", "target_session_attrs", nullptr,           nullptr};
  const std::array<const char*, 8> values = {access.url.c_str(),
                                             access.application.c_str(),
                                             seconds.c_str(),
                                             silence.c_str(),
                                             "UTF8",
                                             "read-write",
                                             nullptr,
                                             nullptr};
  Connection connection;
  connection.silence_ = access.silence;
  // expand_dbname: the URL is taken apart, and what stands behind it here wins.
  connection.handle_.reset(PQconnectdbParams(names.data(), values.data(), 1));
  PGconn* handle = connection.handle_.get();
  if (handle == nullptr || PQstatus(handle) != CONNECTION_OK)
    return Error{ErrorCode::Unavailable,
                 "PostgreSQL cannot be reached: " + one_line(PQerrorMessage(handle))};
  PQsetNoticeProcessor(
      handle, [](void*, const char*) {}, nullptr);
  if (PQsetnonblocking(handle, 1) != 0) return connection.lost("connecting");
  return connection;
}

Status Connection::send(const char* sql, const char* prepared, const Params& params,
                        std::string_view doing) {
  if (!usable()) return lost(doing);
  std::vector<const char*> data;
  std::vector<int> sizes;
  for (const Params::Value& value : params.values_) {
    data.push_back(value.data);
    sizes.push_back(value.size);
  }
  const std::vector<int> formats(data.size(), 1);
  const int count = static_cast<int>(data.size());
  const int sent = prepared != nullptr
                       ? PQsendQueryPrepared(handle_.get(), prepared, count, data.data(),
                                             sizes.data(), formats.data(), 1)
                       : PQsendQueryParams(handle_.get(), sql, count, nullptr, data.data(),
                                           sizes.data(), formats.data(), 1);
  if (sent == 0) return lost(doing);
  return ok_status();
}

Result<Rows> Connection::ask(std::string_view doing, std::string_view sql, const Params& params) {
  sql_state_.clear();
  if (!usable()) return lost(doing);
  Ended ended = session_->run(sql, params);
  if (!ended.rows && ended.sql_state.empty()) return lost(doing);
  if (!ended.sql_state.empty()) return refused(doing, std::move(ended.sql_state), ended.message);
  return std::move(*ended.rows);
}

Result<Rows> Connection::run(std::string_view sql, const Params& params) {
  if (session_) return ask("running a statement", sql, params);
  PAWL_TRY_DO(send(std::string(sql).c_str(), nullptr, params, "sending a statement"));
  return finish("running a statement");
}

Status Connection::prepare(const Query& query) {
  if (!usable()) return lost(query.name);
  if (prepared_.count(query.name) != 0) return ok_status();
  if (PQsendPrepare(handle_.get(), query.name.c_str(), query.sql.c_str(), 0, nullptr) == 0)
    return lost(query.name);
  PAWL_TRY_DO(finish(query.name));
  prepared_.insert(query.name);
  return ok_status();
}

Result<Rows> Connection::run(const Query& query, const Params& params) {
  if (session_) return ask(query.name, query.sql, params);
  PAWL_TRY_DO(prepare(query));
  PAWL_TRY_DO(send(nullptr, query.name.c_str(), params, query.name));
  return finish(query.name);
}

Status Connection::each(const Query& query, const Params& params, VisitRow visit) {
  if (session_) {
    PAWL_TRY(const Rows rows, ask(query.name, query.sql, params));
    for (size_t i = 0; i < rows.size() && visit(rows.row(i)); ++i) continue;
    return ok_status();
  }
  PAWL_TRY_DO(prepare(query));
  PAWL_TRY_DO(send(nullptr, query.name.c_str(), params, query.name));
  if (PQsetSingleRowMode(handle_.get()) == 0) return lost(query.name);
  PAWL_TRY_DO(finish(query.name, &visit));
  return ok_status();
}

// Sends what is left and takes all results of the statement; the last one counts.
Result<Rows> Connection::finish(std::string_view doing, VisitRow* visit) {
  sql_state_.clear();
  if (!flush()) return lost(doing);
  Rows last(nullptr);
  bool wanted = visit != nullptr;
  for (;;) {
    while (PQisBusy(handle_.get()) != 0) {
      if (!wait(Wait::Read) || PQconsumeInput(handle_.get()) == 0) return lost(doing);
    }
    Rows next(PQgetResult(handle_.get()));
    if (next.get() == nullptr) break;
    if (PQresultStatus(next.get()) == PGRES_SINGLE_TUPLE) {
      wanted = wanted && (*visit)(next);
      continue;
    }
    last = std::move(next);
  }
  if (last.get() == nullptr || PQstatus(handle_.get()) != CONNECTION_OK) return lost(doing);
  const ExecStatusType status = PQresultStatus(last.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) return refused(doing, last.get());
  return last;
}

bool Connection::flush() {
  for (;;) {
    const int left = PQflush(handle_.get());
    if (left <= 0) return left == 0;
    if (!wait(Wait::ReadAndWrite) || PQconsumeInput(handle_.get()) == 0) return false;
  }
}

// True once something happened within the silence that is allowed.
bool Connection::wait(Wait what) {
  pollfd socket = {PQsocket(handle_.get()), POLLIN, 0};
  if (what == Wait::ReadAndWrite) socket.events |= POLLOUT;
  const auto end = std::chrono::steady_clock::now() + silence_;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    const int found = ::poll(&socket, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (found >= 0 || errno != EINTR) return found > 0;
  }
}

Error Connection::lost(std::string_view doing) {
  broken_ = true;
  std::string why = "no connection";
  if (handle_ != nullptr) {
    why = one_line(PQerrorMessage(handle_.get()));
    if (PQstatus(handle_.get()) == CONNECTION_OK)
      why = "no answer within " + std::to_string(silence_.count()) + " ms";
  }
  // A session that may still be working must not be used again.
  close();
  return {ErrorCode::Unavailable, std::string(doing) + ": PostgreSQL: " + why};
}

Error Connection::refused(std::string_view doing, PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* told = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return refused(doing, state != nullptr ? state : "",
                 told != nullptr ? told : one_line(PQresultErrorMessage(result)));
}

Error Connection::refused(std::string_view doing, std::string state, std::string_view told) {
  sql_state_ = std::move(state);
  const std::string message = std::string(doing) + ": PostgreSQL: " + std::string(told) +
                              (sql_state_.empty() ? "" : " (" + sql_state_ + ")");
  if (sql_state_ == "40001" || sql_state_ == "40P01") return {ErrorCode::Conflict, message};
  // The end of the session; whether its transaction was committed is not known.
  const bool ended = sql_state_.starts_with("57P0") || sql_state_ == "40003" ||
                     sql_state_.starts_with("08") || sql_state_ == "25006";
  if (ended) {
    broken_ = true;
    close();
    return {ErrorCode::Unavailable, message};
  }
  return {ErrorCode::StoreFailed, message};
}

}  // namespace pawl::pg
