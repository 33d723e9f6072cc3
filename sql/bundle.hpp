// The SQL files of this folder, inside the program: their text needs no path at run time.
#pragma once

#include <span>
#include <string_view>

namespace pgflow::sql {

struct SqlFile {
  std::string_view name;  // file name without its extension; migrations start with their number
  std::string_view text;
  std::string_view
      checksum;  // SHA-256 of the text in lower case hex, as pgflow.schema_migrations keeps it
};

// In the order of installation.
std::span<const SqlFile> pgmq();  // the first makes the schema, the others are replaced whole
std::span<const SqlFile> migrations();
std::span<const SqlFile> downs();     // each has the name of the migration that it undoes
std::span<const SqlFile> adoption();  // instead of the first migration, for upstream's schema
std::span<const SqlFile> functions();
std::span<const SqlFile> operator_files();

}  // namespace pgflow::sql
