// A flow without C++: a file that says which command runs which step becomes the same definition as
// a compiled flow.
#pragma once

#include <filesystem>

#include <pgflow/main.hpp>

#include "settings/keys.hpp"

namespace pgflow::worker {

// Every key of a flow file; config/flow.schema.json is made from it.
const settings::FileFormat& flow_file_format();

// The file cannot be read, or says what no flow file may say. All of its problems at once, each
// with its place. Kind flow_file.
struct FlowFileError : FlowError {
  using FlowError::FlowError;
};

// FlowFileError, and what a compiled flow would throw: InvalidSlugError, StepQueueErrors.
detail::ProgramFlow read_flow_file(const std::filesystem::path& file);
// The same of a text that stands, or would stand, in that file.
detail::ProgramFlow flow_of(const std::string& content, const std::filesystem::path& file);

}  // namespace pgflow::worker
