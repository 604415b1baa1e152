// The names of the language for values of enums: the reader takes them, the printer writes them.
#pragma once

#include "base/named.h"
#include "plan/script.h"

namespace pawl::plan {

inline constexpr Named<Trigger> kTriggers[] = {{"none_failed", Trigger::NoneFailed},
                                               {"all_success", Trigger::AllSuccess},
                                               {"all_done", Trigger::AllDone},
                                               {"one_success", Trigger::OneSuccess}};

inline constexpr Named<Backoff> kBackoffs[] = {{"none", Backoff::None},
                                               {"constant", Backoff::Constant},
                                               {"linear", Backoff::Linear},
                                               {"exponential", Backoff::Exponential}};

inline constexpr Named<LoopMode> kLoopModes[] = {
    {"for_each", LoopMode::ForEach}, {"while", LoopMode::While}, {"until", LoopMode::Until}};

inline constexpr Named<OnTimeout> kWaitTimeouts[] = {{"fail", OnTimeout::Fail},
                                                     {"continue", OnTimeout::Continue},
                                                     {"suspend", OnTimeout::Suspend},
                                                     {"cancel", OnTimeout::Cancel}};

// Of a strategy that was given: Propagate is the default and has no name.
inline constexpr Named<OnError> kStrategyNames[] = {{"ignore", OnError::Ignore},
                                                    {"fail_workflow", OnError::Fail},
                                                    {"fallback_step", OnError::Fallback},
                                                    {"skip", OnError::Skip},
                                                    {"rollback", OnError::Rollback}};

}  // namespace pawl::plan
