// Made from crates/kyoho-trees/src/gpu/constants.rs, which says what each number is.

#define LEVELS 42
#define LEVELS_OF_WORD 21
#define LOWEST_EXPONENT (-900)
#define LEAF 32
#define BOX_THREADS 256
#define KEY_THREADS 256
#define SORT_THREADS 256
#define SMALL_TURNS 4
#define LARGE_TURNS 12
#define DIGIT_BITS 8
#define SCAN_THREADS 256
#define SCANNED 4
#define CELL_THREADS 256
#define CELL_TILE 1024
#define LINK_THREADS 256
#define GENERATIONS 43
#define LEAF_THREADS 128
#define INNER_THREADS 64
#define CHILDREN 8
#define DIRECT_MOMENTS 256
#define CELLS_OF_BLOCK 8
#define MOST_PAIRS 1024
#define MOST_COUNTED 65535
#define SAMPLES 64
#define ESCAPED 30
#define BESIDE_BULK 10
#define MOST_ESCAPED 40
#define WIDEST 68
#define MOST_ALIKE 512
#define CROWD 32
#define SELECT_THREADS 256
#define SHIFT_THREADS 64
#define VALUE_THREADS 128
#define LEVELS_OF_SINKS 3
#define SINKS_0 4096
#define SINKS_1 512
#define SINKS_2 64
#define WALK_STACK 960
#define WALK_RESERVE 336
#define WALK_BUFFER 256
#define MOST_OF_PART 128
#define PART_SUMS 5
#define NEIGHBOUR_THREADS 128
#define MOST_WORDS 3221225472
#define SIDE_EXPONENT 10
#define SOFTENING_EXPONENT 12
#define MOST_UNITS 400
#define FOUND_UNSORTED 0
#define FOUND_DEEP 1
#define FOUND_CROWDED 2
#define FOUND_NEGATIVE 4
#define FOUND_LARGE 5
#define FOUND_WIDE 6
#define FOUND_STARTS 7
#define FOUND 51
#define OWN_NONE 0
#define OWN_ITSELF 1
#define OWN_LISTED 2
#define OWN_REPEATED 3
#define CUBE_LOW 0
#define CUBE_TO_KEYS 3
#define CUBE_TO_UNITS 4
#define FIELD_CUT2 0.81f
#define FLOOR 0.2f
#define MOST_PARTS 16.0f
#define LEAST_S2 9.313226e-10f
#define MOST_RADIUS 1048576.0f
#define LEAST_S2_OF_ORDER_4 1.5e-8f
#define LEAST_S2_OF_ORDER_5 9.6e-7f
#define LEAST_S2_OF_ORDER_6 7.7e-6f
#define MOST_S2_OF_ORDER_2 250000000000000.0f
#define MOST_S2_OF_ORDER_3 30000000000.0f
#define MOST_S2_OF_ORDER_4 220000000.0f
#define MOST_S2_OF_ORDER_5 9900000.0f
#define MOST_S2_OF_ORDER_6 1200000.0f
#define FAR_SUM4 16.0f

typedef struct {
    long position, position_octet, position_body, position_component;
    long mass, mass_octet, mass_body;
} BodyLayout;

typedef struct {
    uint first_body, bodies, first_child;
    unsigned short children, depth;
} Cell;

// The centre, as what 32 bits hold of it and what they round off, with the radius and the sum of
// |m|.
typedef struct {
    float4 high, low;
} CellPlace;

// The sum of |m| |x|^2, `rho` of the criterion, the children, and the bodies, as far as 16 bits go.
typedef struct {
    float second, rho;
    uint first_child;
    unsigned short children, bodies;
} CellReach;

// A cell of sinks, or one body of it, the cell around it of the level before, and its bodies.
typedef struct {
    uint cell, around, first_body, bodies;
} Sink;
