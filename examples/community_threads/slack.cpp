#include "slack.hpp"

#include <curl/curl.h>

#include <memory>
#include <pgflow/json.hpp>
#include <stdexcept>

namespace {

struct Post {
  std::string thread_id, text;
};

std::size_t append(char* data, std::size_t, std::size_t size, void* body) {
  static_cast<std::string*>(body)->append(data, size);
  return size;
}

}  // namespace

Slack::Slack(std::string webhook_url) : webhook_url_(std::move(webhook_url)) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
}

std::string Slack::post(const std::string& thread_id, const std::string& text) const {
  const std::string request = pgflow::to_json(Post{thread_id, text});
  std::string answer;
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(
      curl_easy_init(), curl_easy_cleanup
  );
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"), curl_slist_free_all
  );
  curl_easy_setopt(curl.get(), CURLOPT_URL, webhook_url_.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, request.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, 10L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  if (const CURLcode code = curl_easy_perform(curl.get()); code != CURLE_OK) {
    throw std::runtime_error(std::string("Slack: ") + curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) {
    throw std::runtime_error("Slack: HTTP " + std::to_string(status));
  }
  return answer;
}
