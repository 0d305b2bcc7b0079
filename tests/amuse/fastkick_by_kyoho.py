"""Lets AMUSE's own tests of FastKick, which need not be installed, run on KyohoField: pytest -p fastkick_by_kyoho."""

import sys
import types

from amuse_kyoho import KyohoField, KyohoFieldInterface


def new_interface(mode, **options):
    return KyohoFieldInterface(**options)


interface = types.ModuleType("amuse.community.fastkick.interface")
interface.FastKick, interface.FastKickInterface = KyohoField, new_interface
package = types.ModuleType("amuse.community.fastkick")
package.interface = interface
sys.modules.update({module.__name__: module for module in (package, interface)})
