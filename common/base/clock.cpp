// Both formats are independent of locale and time zone.
#include "base/clock.hpp"

#include <cstdio>
#include <ctime>

namespace pgflow {

std::string rfc3339(WallClock::time_point time) {
  using namespace std::chrono;
  const auto since_epoch = floor<microseconds>(time.time_since_epoch());
  const auto whole = floor<seconds>(since_epoch);
  const std::time_t seconds_since_epoch = whole.count();
  std::tm utc{};
  ::gmtime_r(&seconds_since_epoch, &utc);
  char day[32], text[64];
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(
      text, sizeof text, "%s.%06lldZ", day, static_cast<long long>((since_epoch - whole).count())
  );
  return text;
}

std::string human_duration(std::chrono::milliseconds duration) {
  const auto ms = static_cast<long long>(duration.count());
  char text[48];
  if (ms < 1000) {
    std::snprintf(text, sizeof text, "%lldms", ms);
  } else if (ms < 60'000) {
    std::snprintf(text, sizeof text, "%lld.%llds", ms / 1000, ms % 1000 / 100);
  } else if (ms < 3'600'000) {
    std::snprintf(text, sizeof text, "%lldm%02llds", ms / 60'000, ms / 1000 % 60);
  } else {
    std::snprintf(text, sizeof text, "%lldh%02lldm", ms / 3'600'000, ms / 60'000 % 60);
  }
  return text;
}

}  // namespace pgflow
