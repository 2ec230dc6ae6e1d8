// All of fa3::tma.
#pragma once

#include "fa3/tma/cluster.cuh"
#include "fa3/tma/elect.cuh"
#include "fa3/tma/fence.cuh"
#include "fa3/tma/load.cuh"
#include "fa3/tma/mbarrier.cuh"
#include "fa3/tma/multicast.cuh"
#include "fa3/tma/named.cuh"
#include "fa3/tma/pdl.cuh"
#include "fa3/tma/reduce.cuh"
#include "fa3/tma/registers.cuh"
#include "fa3/tma/ring.cuh"
#include "fa3/tma/store.cuh"
#include "fa3/tma/types.cuh"
