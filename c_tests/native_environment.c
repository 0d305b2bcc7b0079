/* Makes a system of order 4, or of a third argument, that leaves all other options open.
   Compares the result and its text with the first two arguments. */
#include "native_check.h"

int main(int argc, char **argv) {
    kyoho_system *system = NULL;
    kyoho_interaction computed = KYOHO_INTERACTION_INIT;
    kyoho_backend backend;
    char text[100];
    if (argc < 3) return 2;
    kyoho_result result = create_on(argc > 3 ? atoi(argv[3]) : 4, 0, 0, NULL, 0, &system);
    if (strcmp(argv[1], "KYOHO_OK") == 0) {
        GIVES(KYOHO_OK, result);
        GIVES(KYOHO_OK, kyoho_system_describe(system, &computed, &backend));
        snprintf(text, sizeof text, "order %d precision %d backend %d", (int)computed.order,
                 (int)computed.precision, (int)backend);
        CHECK(strcmp(text, argv[2]) == 0);
        GIVES(KYOHO_OK, kyoho_system_free(system));
    } else {
        CHECK(strcmp(argv[1], "KYOHO_BAD_OPTION") == 0);
        SAYS(KYOHO_BAD_OPTION, argv[2], NULL, result);
        CHECK(system == NULL);
    }
    return failures != 0;
}
