// The flow countWordsV1: a folder is listed, the words of each file are counted by a task of its
// own, and the counts are added up.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <pgflow/main.hpp>

using namespace pgflow;

struct Counted {
  std::string file;
  long words = 0;
};
struct Total {
  long files = 0, words = 0;
  std::string longest;
};

std::vector<std::string> files(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Counted count(const std::string& path) {
  std::ifstream text(path);
  if (!text) {
    throw PermanentFailure(path + " cannot be read");
  }
  const auto words =
      std::distance(std::istream_iterator<std::string>(text), std::istream_iterator<std::string>());
  return {std::filesystem::path(path).filename().string(), words};
}

// The map's outputs arrive in the order of the files.
Total total(const std::vector<Counted>& counts) {
  Total sum;
  long most = -1;
  for (const Counted& one : counts) {
    ++sum.files;
    sum.words += one.words;
    if (one.words > most) {
      most = one.words;
      sum.longest = one.file;
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  return pgflow::main(argc, argv, [] {
    return with_step_queues(flow<"countWordsV1", std::string>()
                                .array<"files">(files)
                                .map<"count">(over<"files">, count)
                                .step<"total">(depends_on<"count">, total));
  });
}
