#include "supervisor/full_screen.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

namespace pgflow::cli {
namespace {

// The other screen, so that what the user had comes back; no cursor; no line wrap.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

FullScreen::FullScreen() {
  tcgetattr(STDIN_FILENO, &before_);
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH}) {
    sigaddset(&ours, number);
  }
  sigprocmask(SIG_BLOCK, &ours, &signals_before_);
  signals_ = UniqueFd(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  enter();
}

FullScreen::~FullScreen() {
  leave();
  sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
}

void FullScreen::enter() {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
  write_all(kEnter);
}

void FullScreen::leave() {
  write_all(kLeave);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

// The shell gets its own terminal back, and we the whole one when it continues us.
void FullScreen::stop_here() {
  leave();
  kill(getpid(), SIGSTOP);
  enter();
}

FullScreen::Size FullScreen::size() {
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return {};
  return {window.ws_col, window.ws_row};
}

void FullScreen::show(std::string_view text) {
  const Size screen = size();
  std::string out = "\x1b[H";
  for (std::size_t row = 0; row < screen.rows; ++row) {
    const auto end = std::min(text.find('\n'), text.size());
    out += clipped(text.substr(0, end), screen.columns) + "\x1b[K";
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row + 1 < screen.rows) out += "\r\n";
  }
  write_all(out);
}

FullScreen::Event FullScreen::wait(std::chrono::milliseconds limit) {
  pollfd watched[] = {
      {.fd = signals_.get(), .events = POLLIN, .revents = 0},
      {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}
  };
  Event event;
  if (poll(watched, 2, static_cast<int>(limit.count())) <= 0) return event;
  signalfd_siginfo caught{};
  if (read(signals_.get(), &caught, sizeof caught) == sizeof caught) {
    switch (caught.ssi_signo) {
      case SIGTSTP:
        stop_here();
        event.resized = true;
        return event;
      case SIGWINCH:
      case SIGCONT:
        event.resized = true;
        return event;
      default:
        event.signal = static_cast<int>(caught.ssi_signo);
        return event;
    }
  }
  if (watched[1].revents != 0 && read(STDIN_FILENO, &event.key, 1) != 1) {
    event.signal = SIGHUP;  // the terminal is gone
  }
  return event;
}

std::string clipped(std::string_view text, std::size_t columns) {
  std::string out;
  std::size_t taken = 0;
  bool painted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      const auto end = std::min(text.find('m', i), text.size() - 1);
      out += text.substr(i, end - i + 1);
      painted = true;
      i = end;
      continue;
    }
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    if (begins && ++taken > columns) break;
    out += text[i];
  }
  return painted ? out + "\x1b[0m" : out;
}

}  // namespace pgflow::cli
