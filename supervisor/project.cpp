#include "supervisor/project.hpp"

#include <cstdlib>
#include <system_error>

#include "local_pg/access.hpp"

namespace pgflow::cli {

namespace fs = std::filesystem;

fs::path data_root(const fs::path& project) {
  if (const char* wanted = std::getenv("PGFLOW_DATA_DIR"); wanted != nullptr && *wanted != '\0')
    return wanted;
  const fs::path usual = project / ".pgflow";
  const std::optional<std::string> user = local_pg::server_user();
  if (!user || !local_pg::first_closed_folder(usual, *user)) return usual;
  // Named like the socket folder: by a short hash of the path.
  Result<local_pg::Layout> layout = local_pg::plan_layout(usual);
  return layout ? fs::path("/var/lib/pgflow") / layout->run_dir.filename() : usual;
}

std::optional<local_pg::Endpoint> running_database(const fs::path& project) {
  // In the project as well, whatever data_root says: root may look at the database of another
  // user's project.
  for (const fs::path& root : {data_root(project), project / ".pgflow"}) {
    Result<local_pg::Layout> layout = local_pg::plan_layout(root);
    if (!layout) continue;
    std::optional<local_pg::Postmaster> running = local_pg::running_postmaster(layout->data);
    if (running && running->ready) return local_pg::Endpoint{.socket_dir = running->socket_dir};
  }
  return std::nullopt;
}

fs::path project_of(const std::optional<fs::path>& config) {
  std::error_code ignored;
  if (!config) return fs::current_path(ignored);
  return fs::absolute(*config, ignored).parent_path();
}

}  // namespace pgflow::cli
