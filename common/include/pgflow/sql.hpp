// The database for handlers: a handler with a parameter `Sql&` queries it on its thread's own
// connection.
//
//   Receipt pay(const Order& order, Sql& sql) {
//     return sql.transaction([&] {
//       sql.execute("insert into payments (order_id) values ($1)", order.id);
//       return sql.query<Receipt>("select * from receipts where order_id = $1", order.id).at(0);
//     });
//   }
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pgflow/error.hpp>
#include <pgflow/json.hpp>

namespace pgflow {

// The database refused a statement, or could not be reached. error() has PostgreSQL's fields;
// error().sqlstate is "" when it gave no answer. Kinds of our own: connection_failed,
// connection_lost (the statement may have happened), one_column, transaction_open,
// transaction_failed, copy_refused.
struct SqlError : Exception {
  using Exception::Exception;
};

namespace detail {

// A statement's parameter as text, which PostgreSQL reads as the type that the statement needs;
// nothing is NULL. Strings, times and enums are their text, an array of them or of numbers is an
// SQL array; anything else is its JSON, to be used as `$1::jsonb`.
using SqlParameter = std::optional<std::string>;
SqlParameter sql_parameter(std::string_view json);
std::string sql_array(const std::vector<SqlParameter>& elements);

template <class T>
struct sql_elements : std::false_type {};
template <class T, class A>
struct sql_elements<std::vector<T, A>>
    : std::bool_constant<std::is_arithmetic_v<T> || std::is_convertible_v<T, std::string>> {};

template <class T>
SqlParameter sql_parameter_of(const T& value) {
  if constexpr (std::is_same_v<T, std::nullopt_t>) {
    return std::nullopt;
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (sql_elements<T>::value) {
    std::vector<SqlParameter> elements;
    for (const typename T::value_type& element : value) {
      elements.push_back(sql_parameter_of(element));
    }
    return sql_array(elements);
  } else {
    return sql_parameter(to_json(value));
  }
}

// A row read as one value of such a type has one column; of any other type it is an object.
template <class T>
inline constexpr bool sql_scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <>
inline constexpr bool sql_scalar<std::string> = true;
template <class C, class D>
inline constexpr bool sql_scalar<std::chrono::time_point<C, D>> = true;
template <class T>
inline constexpr bool sql_scalar<std::optional<T>> = sql_scalar<T>;

[[noreturn]] void throw_not_one_column(std::size_t columns);

}  // namespace detail

// A worker gives one to each handler thread: a connection of its own, opened at the first use and
// opened again when it was lost, with the worker's name in pg_stat_activity. A stop request cancels
// the running statement, and a dead worker's statements are ended before its tasks run elsewhere.
// What a session keeps (`set`, temporary tables) stays with the thread: prefer `set local`. A fake
// for tests derives from this class and is lent as resource<Sql>(fake).
class Sql {
 public:
  virtual ~Sql() = default;

  // The rows of a select, values, or insert … returning. Row is a struct with members named after
  // the columns, or one value such as std::int64_t for a statement with one column. Numbers of 64
  // bits are exact. Throws SqlError, or JsonError for a row that does not fit.
  template <JsonType Row, class... A>
  std::vector<Row> query(std::string_view statement, const A&... arguments) {
    std::vector<Row> rows;
    for (const std::string& row : fetch(statement, {detail::sql_parameter_of(arguments)...})) {
      if constexpr (detail::sql_scalar<Row>) {
        auto columns = from_json<std::map<std::string, Row>>(row);
        if (columns.size() != 1) detail::throw_not_one_column(columns.size());
        rows.push_back(std::move(columns.begin()->second));
      } else {
        rows.push_back(from_json<Row>(row));
      }
    }
    return rows;
  }

  // One statement of any other kind; the number of rows that it changed. Throws SqlError.
  template <class... A>
  long execute(std::string_view statement, const A&... arguments) {
    return change(statement, {detail::sql_parameter_of(arguments)...});
  }

  // Calls work() between begin and commit and returns what it returned; what it throws rolls back
  // and goes on. Not to be nested. The task's end is stored later, in a transaction of its own:
  // a handler may run again after its changes were committed.
  template <class F>
  std::invoke_result_t<F&> transaction(F work) {
    Transaction open(*this);
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
      work();
      open.commit();
    } else {
      auto result = work();
      open.commit();
      return result;
    }
  }

  // For the worker: a task begins on this thread, and stops when the token says so.
  virtual void serve(std::stop_token /*stop*/) {}

 protected:
  // What a fake has to provide. Each row as JSON, an object of its columns.
  virtual std::vector<std::string> fetch(
      std::string_view statement, const std::vector<std::optional<std::string>>& arguments
  ) = 0;
  // The number of rows changed.
  virtual long change(
      std::string_view statement, const std::vector<std::optional<std::string>>& arguments
  ) = 0;
  // transaction()'s three words; nothing for a fake to do.
  virtual void begin() {}
  // Stores what happened since begin().
  virtual void commit() {}
  // Forgets it.
  virtual void rollback() noexcept {}

 private:
  class Transaction {
   public:
    explicit Transaction(Sql& sql) : sql_(sql) { sql_.begin(); }
    ~Transaction() {
      if (!committed_) sql_.rollback();
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit() {
      sql_.commit();
      committed_ = true;
    }

   private:
    Sql& sql_;
    bool committed_ = false;
  };
};

}  // namespace pgflow
