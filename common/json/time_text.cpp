// Points in time as RFC 3339 texts, in UTC and to the microsecond.
#include <stdexcept>

#include <pgflow/json.hpp>

namespace pgflow::detail {
namespace {

using namespace std::chrono;

void append_padded(std::string& text, std::uint64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  text.append(width > digits.size() ? width - digits.size() : 0, '0');
  text += digits;
}

// Reads a time from left to right; any surprise throws with the whole text.
class Scanner {
 public:
  explicit Scanner(const std::string& text) : text_(text) {}

  bool done() const { return at_ == text_.size(); }
  bool take(std::string_view any_of) {
    if (done() || any_of.find(text_[at_]) == any_of.npos) {
      return false;
    }
    ++at_;
    return true;
  }
  void expect(std::string_view any_of) {
    if (!take(any_of)) {
      fail("expected an RFC 3339 time such as 2026-03-25T10:00:00Z, got");
    }
  }
  int number(int digits) {
    int value = 0;
    for (int i = 0; i < digits; ++i) {
      const int digit = done() ? -1 : text_[at_] - '0';
      expect("0123456789");
      value = value * 10 + digit;
    }
    return value;
  }
  // Digits after the point; those beyond the sixth are dropped.
  microseconds fraction() {
    long long value = 0;
    int kept = 0;
    do {
      const int digit = number(1);
      if (kept < 6) {
        value = value * 10 + digit;
        ++kept;
      }
    } while (!done() && text_[at_] >= '0' && text_[at_] <= '9');
    for (; kept < 6; ++kept) {
      value *= 10;
    }
    return microseconds(value);
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw std::invalid_argument(why + " \"" + text_ + "\"");
  }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

sys_days take_date(Scanner& in) {
  const int y = in.number(4);
  in.expect("-");
  const int m = in.number(2);
  in.expect("-");
  const int d = in.number(2);
  const year_month_day date{
      year(y), month(static_cast<unsigned>(m)), day(static_cast<unsigned>(d))
  };
  if (!date.ok()) {
    in.fail("not a valid date:");
  }
  return date;
}

microseconds take_zone(Scanner& in) {
  if (in.take("Zz")) {
    return {};
  }
  const bool west = in.take("-");
  if (!west && !in.take("+")) {
    in.fail("a time needs a zone (Z or +hh:mm):");
  }
  const int h = in.number(2);
  in.take(":");
  const int m = in.done() ? 0 : in.number(2);
  if (h > 23 || m > 59) {
    in.fail("not a valid zone:");
  }
  const microseconds offset = hours(h) + minutes(m);
  return west ? offset : -offset;
}

}  // namespace

std::string format_date(sys_days date) {
  const year_month_day ymd{date};
  const int y = static_cast<int>(ymd.year());
  if (y < 0 || y > 9999) {
    throw std::invalid_argument("a time outside the years 0 to 9999 has no RFC 3339 form");
  }
  std::string text;
  append_padded(text, static_cast<std::uint64_t>(y), 4);
  text += '-';
  append_padded(text, static_cast<unsigned>(ymd.month()), 2);
  text += '-';
  append_padded(text, static_cast<unsigned>(ymd.day()), 2);
  return text;
}

std::string format_time(sys_time<microseconds> time) {
  const auto date = floor<days>(time);
  const hh_mm_ss clock{time - date};
  std::string text = format_date(date) + "T";
  append_padded(text, static_cast<std::uint64_t>(clock.hours().count()), 2);
  text += ':';
  append_padded(text, static_cast<std::uint64_t>(clock.minutes().count()), 2);
  text += ':';
  append_padded(text, static_cast<std::uint64_t>(clock.seconds().count()), 2);
  if (const auto us = clock.subseconds().count()) {
    text += '.';
    append_padded(text, static_cast<std::uint64_t>(us), 6);
  }
  return text + "Z";
}

sys_days parse_date(const std::string& text) {
  Scanner in(text);
  const sys_days date = take_date(in);
  if (!in.done()) {
    in.fail("not a valid date:");
  }
  return date;
}

sys_time<microseconds> parse_time(const std::string& text) {
  Scanner in(text);
  sys_time<microseconds> time = take_date(in);
  in.expect("Tt ");
  const int h = in.number(2);
  in.expect(":");
  const int m = in.number(2);
  in.expect(":");
  const int s = in.number(2);
  if (h > 23 || m > 59 || s > 60) {  // 60: a leap second
    in.fail("not a valid time:");
  }
  time += hours(h) + minutes(m) + seconds(s);
  if (in.take(".")) {
    time += in.fraction();
  }
  time += take_zone(in);
  if (!in.done()) {
    in.fail("not a valid time:");
  }
  return time;
}

}  // namespace pgflow::detail
