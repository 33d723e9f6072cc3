// The flow parcelV1: some steps run only for some parcels, one fails twice before it works, and one
// never works, which the parcel survives.
#include <pgflow/main.hpp>

using namespace pgflow;
using namespace std::chrono_literals;

struct Parcel {
  std::string country;
  bool gift = false;
};

// What `label` gets: a step that may be skipped is optional here, or it does not compile.
struct Parts {
  std::optional<std::string> wrap;
  std::string carrier;
  std::optional<std::string> insure;
};

std::string wrap(const Parcel&) {
  return "gift wrap";
}

std::string customs(const Parcel& parcel) {
  return "declared for " + parcel.country;
}

std::string stamp(const std::string& customs) {
  return customs + ", stamped";
}

// Stands for a service that is down for a moment.
std::string carrier(const Parcel&, Context& context) {
  if (context.attempt() < 3) {
    throw std::runtime_error("carrier: HTTP 503");
  }
  return "by lorry";
}

// Stands for a service that is down for good.
std::string insure(const Parcel&) {
  throw std::runtime_error("insurer: connection refused");
}

std::string label(const Parts& parts) {
  return parts.carrier + ", " + parts.wrap.value_or("plain") + ", " +
         (parts.insure ? "insured" : "not insured");
}

int main(int argc, char** argv) {
  return pgflow::main(argc, argv, [] {
    return with_step_queues(
        flow<"parcelV1", Parcel>({.max_attempts = 3, .base_delay = 1s})
            .step<"wrap">(run_if(input(&Parcel::gift) == true), wrap)
            .step<"customs">(
                run_if_not(input(&Parcel::country) == "home"), when_unmet(skip_cascade), customs
            )
            .step<"stamp">(depends_on<"customs">, stamp)
            .step<"carrier">(carrier)
            .step<"insure">({.max_attempts = 1}, when_exhausted(skip), insure)
            .step<"label">(depends_on<"wrap", "carrier", "insure">, label)
    );
  });
}
