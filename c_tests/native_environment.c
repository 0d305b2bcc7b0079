/* Makes a system of order 4, or of a third argument, that leaves all other options open.
   Compares the result with the first argument, and its text with the second one, with which it
   begins. With a fourth argument it has to have the rights of another user than its caller, or ends
   with status 77. */
#include "native_check.h"

#include <sys/auxv.h>

int main(int argc, char **argv) {
    kyoho_system *system = NULL;
    kyoho_interaction computed = KYOHO_INTERACTION_INIT;
    kyoho_backend backend;
    char text[100];
    if (argc < 3) return 2;
    if (argc > 4 && getauxval(AT_SECURE) == 0) return 77;
    kyoho_result result = create_on(argc > 3 ? atoi(argv[3]) : 4, 0, 0, NULL, 0, &system);
    if (strcmp(argv[1], "KYOHO_OK") == 0) {
        GIVES(KYOHO_OK, result);
        GIVES(KYOHO_OK, kyoho_system_describe(system, &computed, &backend));
        snprintf(text, sizeof text, "order %d precision %d backend %d", (int)computed.order,
                 (int)computed.precision, (int)backend);
        CHECK(strncmp(text, argv[2], strlen(argv[2])) == 0);
        GIVES(KYOHO_OK, kyoho_system_free(system));
    } else {
        CHECK(strcmp(argv[1], "KYOHO_BAD_OPTION") == 0);
        SAYS(KYOHO_BAD_OPTION, argv[2], NULL, result);
        CHECK(system == NULL);
    }
    return failures != 0;
}
