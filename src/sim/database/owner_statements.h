// The statements about who there is and who owns what: rows of pawl_partition and pawl_node.
// Thread: one.
#pragma once

#include "sim/database/statement_call.h"

namespace pawl::sim::statements {

// Holds the partition's row if it has the epoch of the call; `matches`: it has. Not granted: an
// error.
StatementResult lock_owner_row(Call& call, RowLock mode, bool& matches);

StatementResult read_owner(Call& call);
StatementResult lock_node_at_beat(Call& call);
StatementResult take_row(Call& call);
StatementResult note_progress(Call& call);
StatementResult give_up(Call& call);
StatementResult terminate(Call& call);
StatementResult read_owners(Call& call);
StatementResult enter_node(Call& call);
StatementResult beat(Call& call);
StatementResult set_draining(Call& call);
StatementResult sweep(Call& call);
StatementResult leave_node(Call& call);

}  // namespace pawl::sim::statements
