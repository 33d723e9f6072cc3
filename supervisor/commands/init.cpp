// `pgflow init`: a project that builds and runs as it stands.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/unique_fd.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "templates/bundle.hpp"

namespace pgflow::cli {
namespace {

namespace fs = std::filesystem;

// By ASCII rules, whatever the locale says.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

bool ends_with_version(std::string_view slug) {
  const std::size_t digits = slug.find_last_not_of("0123456789") + 1;
  return digits != slug.size() && digits > 1 && slug[digits - 1] == 'V';
}

// "word-count" becomes wordCountV1.
std::string slug_of(std::string_view folder_name) {
  constexpr std::size_t kLongest = 100;  // queue names get the step's slug beside it
  std::string slug;
  bool new_word = false;
  for (char c : folder_name) {
    if (is_lower(c) || is_upper(c) || is_digit(c)) {
      if (new_word && is_lower(c)) c = static_cast<char>(c - 'a' + 'A');
      slug += c;
      new_word = false;
    } else if (is_ascii(c)) {
      new_word = !slug.empty();
    }
  }
  if (slug.empty() || is_digit(slug.front())) slug.insert(0, "flow");
  slug.resize(std::min(slug.size(), kLongest));
  return ends_with_version(slug) ? slug : slug + "V1";
}

// As a word of a shell's command line.
std::string quoted(const std::string& word) {
  const bool plain = std::ranges::all_of(word, [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || !is_ascii(c) ||
           std::string_view("_-./+@:,").find(c) != std::string_view::npos;
  });
  if (plain) return word;
  std::string inside;
  for (char c : word) inside += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + inside + "'";
}

std::string with_slug(std::string_view text, std::string_view slug) {
  std::string result;
  for (;;) {
    const std::size_t at = text.find(templates::kSlug);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += slug;
    text.remove_prefix(at + templates::kSlug.size());
  }
}

// False with errno when it could not be written whole; never over another file.
bool write_new(const fs::path& path, std::string_view text) {
  const mode_t mode = text.starts_with("#!") ? 0777 : 0666;
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) return false;
  while (!text.empty()) {
    const ssize_t count = write(file.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void print_next_commands(
    const Common& common, const InitArguments& arguments, std::string_view slug
) {
  const fs::path& folder = arguments.folder;
  print("\nNext:");
  std::error_code error;
  if (!fs::equivalent(folder, ".", error)) print("  cd " + quoted(folder.string()));
  if (arguments.lang == "cpp") print("  cmake -B build && cmake --build build");
  print("  pgflow dev");
  print(fmt::format(
      "{}\n  pgflow run start {} --input '{{\"name\": \"Ada\"}}' --wait",
      common.out.dim("and in another terminal, in that folder:"),
      slug
  ));
}

}  // namespace

Outcome<Exit> init(const Common& common, const InitArguments& arguments) {
  const fs::path& folder = arguments.folder;
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
    return refuse(
        Exit::cannot_create, folder.string() + " is no folder", {}, "name a folder, new or old"
    );
  }
  const auto& project = *std::ranges::find(
      templates::projects(), std::string_view(arguments.lang), &templates::Project::lang
  );
  std::vector<std::string_view> in_the_way;
  for (const templates::File& file : project.files) {
    // A dangling link too.
    if (fs::exists(fs::symlink_status(folder / file.name, error))) in_the_way.push_back(file.name);
  }
  if (!in_the_way.empty()) {
    return refuse(
        Exit::cannot_create,
        fmt::format(
            "{} has files of a new project's names: {}",
            folder.string(),
            fmt::join(in_the_way, ", ")
        ),
        "nothing was written",
        "name a new folder, or move them away"
    );
  }

  fs::create_directories(folder, error);
  if (error) {
    return refuse(
        Exit::os_error,
        fmt::format("cannot make the folder {}", folder.string()),
        error.message(),
        "name another one"
    );
  }
  const fs::path whole = fs::canonical(folder, error);
  const std::string slug = slug_of(whole.filename().string());
  std::vector<fs::path> written;
  for (const templates::File& file : project.files) {
    written.push_back(folder / file.name);
    if (write_new(written.back(), with_slug(file.text, slug))) continue;
    const int why = errno;
    // One that another program made meanwhile stays.
    if (why == EEXIST) written.pop_back();
    for (const fs::path& path : written) fs::remove(path, error);
    return refuse(
        Exit::os_error,
        fmt::format("cannot write {}", (folder / file.name).string()),
        std::strerror(why),
        "is the folder writable, and the disk not full?"
    );
  }

  print(
      fmt::format("{} flow {} in {}", common.out.green("✓"), common.out.bold(slug), folder.string())
  );
  for (const templates::File& file : project.files) print(fmt::format("  {}", file.name));
  print_next_commands(common, arguments, slug);
  return Exit::ok;
}

}  // namespace pgflow::cli
