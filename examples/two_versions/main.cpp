// Two versions of a flow in one program: runs of mediaV1 end as they began, new ones are started as
// mediaV2, which has one step more.
#include <pgflow/main.hpp>

using namespace pgflow;

struct Media {
  std::string title;
  int seconds = 0;
};
struct Probed {
  std::string codec;
  int frames = 0;
};
struct Parts {
  std::string transcode;
  std::vector<std::string> thumbnails;
};

Probed probe(const Media& media) {
  return {"h264", media.seconds * 25};
}

std::string transcode(const Probed& probed, FlowInput<Media> media) {
  return media->title + "." + probed.codec;
}

std::vector<std::string> thumbnails(const Probed& probed, FlowInput<Media> media) {
  return {media->title + "@0", media->title + "@" + std::to_string(probed.frames / 2)};
}

std::string publish_v1(const std::string& file) {
  return file;
}

std::string publish_v2(const Parts& parts) {
  return parts.transcode + " with " + std::to_string(parts.thumbnails.size()) + " thumbnails";
}

auto media_v1() {
  return with_step_queues(flow<"mediaV1", Media>()
                              .step<"probe">(probe)
                              .step<"transcode">(depends_on<"probe">, transcode)
                              .step<"publish">(depends_on<"transcode">, publish_v1));
}

auto media_v2() {
  return with_step_queues(flow<"mediaV2", Media>()
                              .step<"probe">(probe)
                              .step<"transcode">(depends_on<"probe">, transcode)
                              .step<"thumbnails">(depends_on<"probe">, thumbnails)
                              .step<"publish">(depends_on<"transcode", "thumbnails">, publish_v2));
}

int main(int argc, char** argv) {
  return pgflow::main(argc, argv, [] { return flows(media_v1(), media_v2()); });
}
