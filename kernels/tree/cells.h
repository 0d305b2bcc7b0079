// The cells of the octree, from the keys of the bodies in their order.
//
// Let `depth` of two neighbouring bodies be the number of levels in which their keys agree. The
// octant around a body that is b levels deep is divided, if it has more than LEAF bodies, into
// several octants if and only if the nearest pair on either side of the body that is at most b deep
// is b deep. So a word with a bit for each depth, in which a pair clears the bits above its own and
// sets its own, tells of which cells a body is, after all pairs on its left, and so on its right.
// The leaf of a body begins at the first depth in which it agrees with fewer than LEAF others, all
// of which are next to it. A generation is a cell's number of ancestors. The cells of a generation
// stand in the order of their bodies, so those of a cell are contiguous, and the first begins at
// the first body of the cell.

#define CELL_GROUPS (CELL_TILE / LANES)
#define CELL_TURNS (CELL_TILE / CELL_THREADS)

// The numbers of set bits.
FUNCTION int count_bits(ulong bits)
{
    return COUNT_BITS((uint)bits) + COUNT_BITS((uint)(bits >> 32));
}

// Paths: bit d + 1 is set if a cell d levels deep is divided. Pairs of bodies that are farther away
// come before those that are nearer.
FUNCTION ulong joined(ulong farther, ulong nearer)
{
    return nearer == 0 ? farther : (farther & ((nearer & (~nearer + 1)) - 1)) | nearer;
}

FUNCTION ulong bits_below(int bit)
{
    return (1UL << bit) - 1;
}

// The levels in which two bodies agree.
FUNCTION int levels_of_words(ulong a, ulong b)
{
    return a == b ? LEVELS_OF_WORD : (LEADING_ZEROS_64(a ^ b) - 1) / 3;
}

FUNCTION int common_depth(GLOBAL const ulong *keys, GLOBAL const ulong *lows, uint a, uint b, int words)
{
    const int depth = levels_of_words(keys[a], keys[b]);
    return depth < LEVELS_OF_WORD ? depth : words == 1 ? LEVELS : LEVELS_OF_WORD + levels_of_words(lows[a], lows[b]);
}

typedef struct {
    // The bodies of a tile with LEAF on either side: their depths with the body before each, and
    // with the one LEAF places after it.
    signed char with_previous[CELL_TILE + 2 * LEAF], with_distant[CELL_TILE + 2 * LEAF];
    // Paths by the pairs on the left and on the right of each thread's bodies.
    ulong left[CELL_THREADS], right[CELL_THREADS];
    // Which of 32 bodies begin a cell of a generation, as bits, and how many of the tile do
    // earlier.
    uint begins[CELL_GROUPS * (GENERATIONS + 1)], earlier[CELL_GROUPS * (GENERATIONS + 1)];
} CellTile;

// Finds the depths in a tile.
FUNCTION void find_depths(LOCAL_POINTER CellTile *tile, GLOBAL const ulong *keys, GLOBAL const ulong *lows, uint count,
    int words)
{
    const long first = (long)BLOCK * CELL_TILE - LEAF;
    for (int k = THREAD; k < CELL_TILE + 2 * LEAF; k += CELL_THREADS) {
        const long at = first + k;
        tile->with_previous[k] = (signed char)(at > 0 && at < count ? common_depth(keys, lows, at, at - 1, words) : -1);
        tile->with_distant[k] = (signed char)(at >= 0 && at + LEAF < count ? common_depth(keys, lows, at, at + LEAF, words) : -1);
    }
    SYNC;
}

// Reads the depths of a tile, each with 1 added, as `find_paths` has written them: those with the
// body before are in the lower bytes.
FUNCTION void read_depths(LOCAL_POINTER CellTile *tile, GLOBAL const unsigned short *depths, uint count)
{
    const long first = (long)BLOCK * CELL_TILE - LEAF;
    for (int k = THREAD; k < CELL_TILE + 2 * LEAF; k += CELL_THREADS) {
        const long at = first + k;
        const int both = at >= 0 && at < count ? depths[at] : 0;
        tile->with_previous[k] = (signed char)((both & 0xff) - 1);
        tile->with_distant[k] = (signed char)((both >> 8) - 1);
    }
    SYNC;
}

// Joins the paths of the threads on either side: `left` and `right` are those of this thread's own
// pairs, and become those of all others of the tile.
FUNCTION void join_paths(LOCAL_POINTER CellTile *tile, ulong *left, ulong *right)
{
    const int mirrored = CELL_THREADS - 1 - THREAD;
    for (int apart = 0; apart < CELL_THREADS; apart = apart == 0 ? 1 : 2 * apart) {
        ulong from_left = *left, from_right = *right;
        if (apart > 0) {
            from_left = THREAD >= apart ? joined(tile->left[THREAD - apart], tile->left[THREAD]) : tile->left[THREAD];
            from_right = mirrored >= apart ? joined(tile->right[THREAD + apart], tile->right[THREAD]) : tile->right[THREAD];
        }
        SYNC;
        tile->left[THREAD] = from_left;
        tile->right[THREAD] = from_right;
        SYNC;
    }
    *left = THREAD > 0 ? tile->left[THREAD - 1] : 0;
    *right = mirrored > 0 ? tile->right[THREAD + 1] : 0;
}

// The paths by the pairs of a thread's bodies. A pair belongs to the later body on the left, and to
// the earlier one on the right.
FUNCTION void own_paths(LOCAL_POINTER const CellTile *tile, uint count, ulong *left, ulong *right)
{
    *left = *right = 0;
    for (int turn = 0; turn < CELL_TURNS; ++turn) {
        const int body = THREAD * CELL_TURNS + turn;
        if ((long)BLOCK * CELL_TILE + body < count)
            *left = joined(*left, 1UL << (tile->with_previous[LEAF + body] + 1));
    }
    for (int turn = CELL_TURNS - 1; turn >= 0; --turn) {
        const int body = THREAD * CELL_TURNS + turn;
        if ((long)BLOCK * CELL_TILE + body < count)
            *right = joined(*right, 1UL << (tile->with_previous[LEAF + body + 1] + 1));
    }
}

// The paths by all pairs of each tile: those from the left, and behind these those from the right.
// The depths are for the kernels that follow.
KERNEL(CELL_THREADS, 4)
find_paths(GLOBAL const ulong *keys, GLOBAL const ulong *lows, GLOBAL unsigned short *depths, GLOBAL ulong *paths,
    GLOBAL uint *found, uint count, int words)
{
    LOCAL CellTile tile;
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    find_depths(&tile, keys, lows, count, words);
    ulong left, right;
    own_paths(&tile, count, &left, &right);
    const ulong last_left = left, first_right = right;
    join_paths(&tile, &left, &right);
    if (THREAD == CELL_THREADS - 1)
        paths[BLOCK] = joined(left, last_left);
    if (THREAD == 0)
        paths[BLOCKS + BLOCK] = joined(right, first_right);
    for (int body = THREAD; body < CELL_TILE; body += CELL_THREADS) {
        const int previous = tile.with_previous[LEAF + body], distant = tile.with_distant[LEAF + body];
        if ((long)BLOCK * CELL_TILE + body < count)
            depths[(long)BLOCK * CELL_TILE + body] = (unsigned short)(previous + 1 + ((distant + 1) << 8));
        // More bodies than a leaf may have agree in the first word.
        if (words == 1 && distant == LEVELS)
            found[FOUND_DEEP] = 1;
    }
}

// Replaces the path of each tile by that of all tiles on its left, in block 0, or on its right.
KERNEL(CELL_THREADS, 1)
join_tiles(GLOBAL ulong *paths, int tiles)
{
    LOCAL ulong shared[CELL_THREADS];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const int each = (tiles + CELL_THREADS - 1) / CELL_THREADS, first = THREAD * each;
    const int end = first + each < tiles ? first + each : tiles;
    // From the right, places are counted backwards.
    GLOBAL ulong *const start = BLOCK == 0 ? paths : paths + 2 * tiles - 1;
    const int step = BLOCK == 0 ? 1 : -1;
    ulong path = 0;
    for (int place = first; place < end; ++place)
        path = joined(path, start[place * step]);
    for (int apart = 0; apart < CELL_THREADS; apart = apart == 0 ? 1 : 2 * apart) {
        ulong from = path;
        if (apart > 0)
            from = THREAD >= apart ? joined(shared[THREAD - apart], shared[THREAD]) : shared[THREAD];
        SYNC;
        shared[THREAD] = from;
        SYNC;
    }
    path = THREAD > 0 ? shared[THREAD - 1] : 0;
    for (int place = first; place < end; ++place) {
        const ulong own = start[place * step];
        start[place * step] = path;
        path = joined(path, own);
    }
}

// The cells that begin at a body: the generations of the first and the last of them, of which the
// latter is the leaf, and the path from the first one on.
typedef struct {
    int first, last;
    ulong path;
} Beginning;

// Notes which bodies of a tile begin a cell of each generation.
FUNCTION void note_cells(LOCAL_POINTER CellTile *tile, GLOBAL const ulong *paths, uint count, Beginning begun[CELL_TURNS])
{
    for (int k = THREAD; k < CELL_GROUPS * (GENERATIONS + 1); k += CELL_THREADS)
        tile->begins[k] = 0;
    ulong left, right;
    own_paths(tile, count, &left, &right);
    join_paths(tile, &left, &right);
    left = joined(paths[BLOCK], left);
    right = joined(paths[BLOCKS + BLOCK], right);
    UNROLL
    for (int turn = CELL_TURNS - 1; turn >= 0; --turn) {
        const int body = THREAD * CELL_TURNS + turn;
        if ((long)BLOCK * CELL_TILE + body < count)
            right = joined(right, 1UL << (tile->with_previous[LEAF + body + 1] + 1));
        begun[turn].path = right;
    }
    // The largest depth in which LEAF + 1 bodies agree, of the runs that have all of the thread's.
    int of_all_turns = -1;
    UNROLL
    for (int k = CELL_TURNS - 1; k <= LEAF; ++k) {
        const int other = tile->with_distant[THREAD * CELL_TURNS + k];
        of_all_turns = other > of_all_turns ? other : of_all_turns;
    }
    UNROLL
    for (int turn = 0; turn < CELL_TURNS; ++turn) {
        const int body = THREAD * CELL_TURNS + turn;
        begun[turn].first = 1;
        begun[turn].last = 0;
        if ((long)BLOCK * CELL_TILE + body < count) {
            const int previous = tile->with_previous[LEAF + body];
            left = joined(left, 1UL << (previous + 1));
            // Of the runs of LEAF + 1 bodies that have this one.
            int distant = of_all_turns;
            UNROLL
            for (int k = 0; k < CELL_TURNS - 1; ++k) {
                const int other = tile->with_distant[THREAD * CELL_TURNS + (k < turn ? LEAF + 1 + k : k)];
                distant = other > distant ? other : distant;
            }
            const int leaf = distant + 1 < LEVELS ? distant + 1 : LEVELS;
            const ulong path = (left | begun[turn].path) & bits_below(leaf + 1) & ~1UL;
            begun[turn].last = count_bits(path);
            begun[turn].first = previous < 0 ? 0 : count_bits(path & bits_below(previous + 1)) + 1;
            begun[turn].path = previous < 0 ? path : path & ~bits_below(previous + 2);
            for (int generation = begun[turn].first; generation <= begun[turn].last; ++generation)
                ATOMIC_ADD(&tile->begins[body / LANES * (GENERATIONS + 1) + generation], 1u << body % LANES);
        }
    }
    SYNC;
    if (THREAD <= GENERATIONS) {
        uint sum = 0;
        for (int group = 0; group < CELL_GROUPS; ++group) {
            tile->earlier[group * (GENERATIONS + 1) + THREAD] = sum;
            sum += COUNT_BITS(tile->begins[group * (GENERATIONS + 1) + THREAD]);
        }
    }
    SYNC;
}

// The number of cells of a generation that bodies of the tile before this one begin.
FUNCTION uint cells_before(LOCAL_POINTER const CellTile *tile, int body, int generation)
{
    const int place = body / LANES * (GENERATIONS + 1) + generation;
    return tile->earlier[place] + COUNT_BITS(tile->begins[place] & ((1u << body % LANES) - 1));
}

// Counts the cells of each generation that begin in each tile: a row of tiles for each.
KERNEL(CELL_THREADS, 4)
count_cells(GLOBAL const unsigned short *depths, GLOBAL const ulong *paths, GLOBAL uint *counts, uint count)
{
    LOCAL CellTile tile;
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    read_depths(&tile, depths, count);
    Beginning begun[CELL_TURNS];
    note_cells(&tile, paths, count, begun);
    if (THREAD < GENERATIONS) {
        const int last = (CELL_GROUPS - 1) * (GENERATIONS + 1) + THREAD;
        counts[(long)THREAD * BLOCKS + BLOCK] = tile.earlier[last] + COUNT_BITS(tile.begins[last]);
    }
}

// Makes the cells, with the parent of each, and the leaf of each body. `counts` and `totals` are
// those of `count_cells`, added up. The numbers of bodies and children of inner cells come from
// `link_cells`, to which `children` tells where those of each cell begin.
KERNEL(CELL_THREADS, 4)
write_cells(GLOBAL const unsigned short *depths, GLOBAL const ulong *paths, GLOBAL const uint *counts,
    GLOBAL const uint *totals, GLOBAL Cell *cells, GLOBAL uint *children, GLOBAL uint *parents, GLOBAL uint *leaves,
    GLOBAL uint *found, uint count, uint room)
{
    LOCAL CellTile tile;
    // The first cell of each generation, of all bodies and of this tile.
    LOCAL uint starts[GENERATIONS + 1], of_tile[GENERATIONS + 1];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    read_depths(&tile, depths, count);
    Beginning begun[CELL_TURNS];
    note_cells(&tile, paths, count, begun);
    if (THREAD <= GENERATIONS) {
        uint start = 0;
        for (int generation = 0; generation < THREAD; ++generation)
            start += totals[generation];
        starts[THREAD] = start;
        of_tile[THREAD] = start + (THREAD < GENERATIONS ? counts[(long)THREAD * BLOCKS + BLOCK] : 0);
        if (BLOCK == 0)
            found[FOUND_STARTS + THREAD] = start;
    }
    SYNC;
    UNROLL
    for (int turn = 0; turn < CELL_TURNS; ++turn) {
        const int body = THREAD * CELL_TURNS + turn;
        const uint at = (uint)((long)BLOCK * CELL_TILE + body);
        ulong path = begun[turn].path;
        uint own = 0, above = 0;
        int parent = tile.with_previous[LEAF + body];
        if (begun[turn].first <= begun[turn].last) {
            const int first = begun[turn].first, previous = first > 0 ? first - 1 : 0;
            own = of_tile[first] + cells_before(&tile, body, first);
            // The last cell before that has begun; the root's is no cell.
            above = of_tile[previous] + cells_before(&tile, body, previous) - 1;
        }
        if (at < count) {
            const int last = begun[turn].last;
            leaves[at] = of_tile[last] + cells_before(&tile, body, last) - (begun[turn].first > last);
        }
        for (int generation = begun[turn].first; generation <= begun[turn].last; ++generation) {
            const uint child = of_tile[generation + 1] + cells_before(&tile, body, generation + 1);
            Cell cell;
            cell.first_body = at;
            cell.bodies = 0;
            cell.first_child = 0;
            cell.children = 0;
            if (path != 0) {
                cell.depth = (unsigned short)(count_bits((path & (~path + 1)) - 1) - 1);
                path &= path - 1;
                parent = cell.depth;
            } else {
                int depth = LEVELS, bodies = 1;
                while (bodies <= LEAF && tile.with_previous[LEAF + body + bodies] > parent) {
                    const int other = tile.with_previous[LEAF + body + bodies];
                    depth = other < depth ? other : depth;
                    ++bodies;
                }
                cell.bodies = bodies;
                cell.depth = (unsigned short)depth;
            }
            if (own < room) {
                cells[own] = cell;
                children[own] = child;
                parents[own] = above;
            }
            above = own;
            own = child;
        }
    }
    if (BLOCK == 0 && THREAD == 0 && starts[GENERATIONS] < room)
        children[starts[GENERATIONS]] = starts[GENERATIONS];
}

// Completes the cells: where the children and the bodies of each end. It finds the end of those
// whose moments are summed from their children.
KERNEL(LINK_THREADS, 6)
link_cells(GLOBAL const ulong *keys, GLOBAL const ulong *lows, GLOBAL Cell *cells, GLOBAL const uint *children,
    GLOBAL uint *found, uint count, uint room, int words)
{
    LOCAL uint end_of_large;
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint all = found[FOUND_STARTS + GENERATIONS], end = all < room ? all : 0;
    if (THREAD == 0)
        end_of_large = 0;
    SYNC;
    for (uint number = BLOCK * LINK_THREADS + THREAD; number < end; number += BLOCKS * LINK_THREADS) {
        Cell cell = cells[number];
        const uint first = children[number], after = children[number + 1];
        const int is_divided = after > first;
        if (!is_divided && cell.bodies <= LEAF)
            continue;
        // The last body that is known to be of the cell, and the first that is not.
        uint inside = cell.first_body + LEAF, apart = LEAF, outside = inside + apart;
        while (outside < count && common_depth(keys, lows, cell.first_body, outside, words) >= cell.depth) {
            inside = outside;
            apart *= 4;
            outside = inside + apart;
        }
        outside = outside < count ? outside : count;
        while (outside - inside > 1) {
            const uint middle = inside + (outside - inside) / 2;
            if (common_depth(keys, lows, cell.first_body, middle, words) >= cell.depth)
                inside = middle;
            else
                outside = middle;
        }
        cell.bodies = outside - cell.first_body;
        if (is_divided) {
            cell.first_child = first;
            cell.children = (unsigned short)(after - first);
            if (cell.bodies > DIRECT_MOMENTS)
                ATOMIC_MAX(&end_of_large, number + 1);
        }
        cells[number] = cell;
    }
    SYNC;
    if (THREAD == 0 && end_of_large > 0)
        ATOMIC_MAX(&found[FOUND_LARGE], end_of_large);
}
