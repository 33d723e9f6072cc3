// The whole terminal, as long as it lives; whatever ends it, the terminal is as it was before.
#pragma once

#include <termios.h>

#include <chrono>
#include <csignal>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace pgflow::cli {

class FullScreen {
 public:
  // stdin and stdout are a terminal. The signals that would end or stop the program come out of
  // wait() from now on.
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  struct Size {
    std::size_t columns = 80;
    std::size_t rows = 24;
  };
  static Size size();

  // Replaces what is shown: the first rows of `text`, each cut at the right edge.
  void show(std::string_view text);

  struct Event {
    int signal = 0;  // INT, TERM, HUP or QUIT: end now
    char key = 0;
    bool resized = false;  // show again, at once
  };
  // Nothing happened: none of its fields is set. Ctrl-Z stops the program in here.
  Event wait(std::chrono::milliseconds limit);

 private:
  void enter();
  void leave();
  void stop_here();

  termios before_{};
  sigset_t signals_before_{};
  UniqueFd signals_;
};

// As many columns of the text as fit; colours do not leak.
std::string clipped(std::string_view text, std::size_t columns);

}  // namespace pgflow::cli
