// Made from crates/kyoho-devices/src/generated.rs, which says what each number is.

#define CHUNK 256
#define OCTET 8
#define SLICES 24
#define SLICE_GROUPS 8
#define FAR_AWAY 4e150
#define NOWHERE (-1)
#define SHORT 32
#define BATCH 256
#define SORTED 2048
#define LARGEST_INDEX 2147483647
#define FETCH_THREADS 256
#define END_SINKS 4
#define LETTER_HEAD 8
#define PATIENCE 200000
#define LIFETIME 2000000
#define SHAPES 8
#define LIST_THREADS 32
#define LIST_STRANDS 8
#define LIST_SEGMENT 1024
#define LIST_LANE_CHOICES 4
#define LIST_COSTS { 1.0, 1.03, 1.08, 1.2 }
#define LIST_PART 32
#define LIST_ROW 33
#define LIST_COUNTS 34
#define GROUP_THREADS 256
#define UNIT_THREADS 128
#define ARRAY_THREADS 256
#define ADDRESS_RUN 1024
#define FLAGS 2
#define GROUP_COUNTS 8
#define GROUP_SUMS 76
#define SIZES 512
#define SIZE_WIDTH 4
#define SINK_REACH 12
#define MOST_RAISED 44
#define LONGEST_UNIT 250
#define HEAVIEST_UNIT 1000
#define LISTED_RANGES 0
#define LISTED_ADDRESSES 1
#define LISTED_OWN 2

#define FORCE_NAME_0 force_32_few_fe
#define LANES_0 32
#define THREADS_0 256
#define FUSED_0 1
#define ENDS_0 1

#define FORCE_NAME_1 force_32_many_f
#define LANES_1 32
#define THREADS_1 128
#define FUSED_1 1
#define ENDS_1 0

#define FORCE_NAME_2 force_8_few_f
#define LANES_2 8
#define THREADS_2 128
#define FUSED_2 1
#define ENDS_2 0

#define FORCE_NAME_3 force_8_many_f
#define LANES_3 8
#define THREADS_3 128
#define FUSED_3 1
#define ENDS_3 0

#define FORCE_NAME_4 force_8_many_p
#define LANES_4 8
#define THREADS_4 128
#define FUSED_4 0
#define ENDS_4 0

#define FORCE_NAME_5 force_1_few_f
#define LANES_5 1
#define THREADS_5 128
#define FUSED_5 1
#define ENDS_5 0

#define FORCE_NAME_6 force_1_many_f
#define LANES_6 1
#define THREADS_6 128
#define FUSED_6 1
#define ENDS_6 0

#define FORCE_NAME_7 force_1_many_p
#define LANES_7 1
#define THREADS_7 128
#define FUSED_7 0
#define ENDS_7 0

typedef struct {
    double time;
    double mass_factor;
    double position_factor;
    double velocity_factor;
    double acceleration_factor;
    double jerk_factor;
    int nj;
    int predicts;
} PredictionTarget;

typedef struct {
    PredictionTarget target;
    double potential_unit;
    double acceleration_unit;
    double jerk_unit;
    double snap_unit;
    double crackle_unit;
    double distance2_unit;
    double distance2_factor;
    double by_mass_factor;
    double plain_factor;
    double time_factor;
    int ni;
    int stride;
    int chunks;
    int first_chunk;
    int first_slice;
    int slice_step;
    int slices;
    int segments;
    int blocks;
    int skip_own_index;
    int is_dense;
    int is_predicted;
    int accumulators;
    int records;
    uint sequence;
    int sinks_from;
    int results_from;
    int form;
    int is_batch;
    int first_sink;
    int end_sinks;
    int reserved;
    double softening2;
} Step;

typedef struct {
    long offset;
    long stride;
} Column;

typedef struct {
    Column masses;
    Column times;
    Column indices;
    Column softening2;
    Column positions;
    Column velocities;
    Column accelerations;
    Column jerks;
    Column snaps;
    Column crackles;
    Column sixth_derivatives;
    Column seventh_derivatives;
} Columns;

typedef struct {
    Column potentials;
    Column accelerations;
    Column jerks;
    Column snaps;
    Column crackles;
    Column nearest;
    Column nearest_distance2;
} ForceColumns;

typedef struct {
    double position;
    double mass;
    double softening2;
} BodyBounds;

typedef struct {
    int scales_lengths;
    int lowest_weight;
    int highest_weight;
    int lowest_mass;
    int highest_mass;
    int vectors;
} UnitBounds;

typedef struct {
    long first_source;
    int sources;
    int first_sink;
    int sinks;
    int lane_bits;
    int partial;
    int group;
} ListItem;

typedef struct {
    int first_sink;
    int sinks;
    int partial;
    int segments;
} ListPart;

typedef struct {
    long first_source;
    int sources;
    int sinks;
    int first_sink;
    int reserved;
} ListGroup;

typedef struct {
    Column sinks;
    Column sources;
    Column first_addresses;
    Column source_counts;
    long sink_count;
    long source_count;
    long end;
    int count;
    int form;
    int is_batch;
    int reserved;
} GroupOffsets;
