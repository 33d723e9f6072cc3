// A stand-in for Slack's webhook: a real HTTP server on loopback that answers every 9th request
// with 500 and appends each message it accepted to a ledger, one JSON object a line.
//
//   slack_stand_in PORT_FILE LEDGER_FILE      runs until SIGTERM or SIGINT
#include <microhttpd.h>
#include <netinet/in.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace {

constexpr std::size_t kEveryNthFails = 9;
constexpr std::size_t kLongestBody = 64 * 1024;

struct Server {
  std::ofstream ledger;
  std::size_t requests = 0;  // one server thread only
};

struct Request {
  std::string body;
};

MHD_Result reply(MHD_Connection* connection, unsigned status, const std::string& text) {
  MHD_Response* response = MHD_create_response_from_buffer(
      text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY
  );
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result on_request(
    void* context,
    MHD_Connection* connection,
    const char* /*url*/,
    const char* method,
    const char* /*version*/,
    const char* data,
    std::size_t* data_size,
    void** state
) {
  auto* server = static_cast<Server*>(context);
  if (*state == nullptr) {
    *state = new Request;
    return MHD_YES;
  }
  auto* request = static_cast<Request*>(*state);
  if (*data_size > 0) {
    if (request->body.size() + *data_size > kLongestBody) {
      return MHD_NO;
    }
    request->body.append(data, *data_size);
    *data_size = 0;
    return MHD_YES;
  }
  if (std::string(method) != "POST") {
    return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "post only");
  }
  if (++server->requests % kEveryNthFails == 0) {
    return reply(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "the stand-in is having a bad moment");
  }
  server->ledger << request->body << std::endl;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return reply(
      connection,
      MHD_HTTP_OK,
      std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count())
  );
}

void on_completed(void*, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
  delete static_cast<Request*>(*state);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: slack_stand_in PORT_FILE LEDGER_FILE\n";
    return 64;
  }
  // The signals are taken by sigwait below, in this thread only.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);

  Server server{.ledger = std::ofstream(argv[2], std::ios::app)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  MHD_Daemon* daemon = MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD,
      0,
      nullptr,
      nullptr,
      on_request,
      &server,
      MHD_OPTION_SOCK_ADDR,
      reinterpret_cast<sockaddr*>(&address),
      MHD_OPTION_NOTIFY_COMPLETED,
      on_completed,
      nullptr,
      MHD_OPTION_END
  );
  if (!server.ledger || daemon == nullptr) {
    std::cerr << "slack_stand_in: cannot open the ledger or a port on 127.0.0.1\n";
    return 71;
  }
  // Written under another name first, so that a reader never sees half a port.
  const std::string port_file = argv[1];
  std::ofstream(port_file + ".new")
      << MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port << "\n";
  std::filesystem::rename(port_file + ".new", port_file);

  int signal = 0;
  sigwait(&stop_signals, &signal);
  MHD_stop_daemon(daemon);
  return 0;
}
