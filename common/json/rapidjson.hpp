// RapidJSON, included here only: its assertions are bugs of ours, in every translation unit alike.
//
// Never compare RapidJSON values with ==: in C++20 GenericValue::operator== of 1.1.0 calls itself
// through the rewritten operator and overflows the stack. Our tree is json::Value.
#pragma once

#include "base/bug.hpp"

#define RAPIDJSON_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : PGFLOW_BUG("RapidJSON assertion: " #condition))

#include <rapidjson/encodedstream.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
