// Events: past facts, each about one entity. They are journaled, folded on recovery, and shown to
// users.
#pragma once

#include "journal/event_type.h"
#include "journal/job_events.h"
#include "journal/run_events.h"
#include "journal/script_events.h"
#include "journal/settings_events.h"
#include "journal/world_events.h"
