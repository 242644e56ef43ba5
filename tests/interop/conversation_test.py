"""How the tests talk to a guest: against a pipe."""

import os
import unittest

from guest import Conversation, Silence


class ConversationTest(unittest.TestCase):
    def setUp(self):
        reader, self.other = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, self.other)
        self.talk = Conversation("guest", reader, self.other, lambda: "the console")

    def test_an_answer_is_what_stands_before_ok(self):
        os.write(self.other, b"|one\nstatus 0\nok\n|two\n")
        self.assertEqual(self.talk.answer(), ["|one", "status 0"])

    def test_a_late_answer_is_not_taken_for_the_next(self):
        with self.assertRaisesRegex(Silence, "guest said nothing for 0 s: the console"):
            self.talk.answer(deadline=0)
        os.write(self.other, b"status 143\nok\n")
        with self.assertRaisesRegex(Silence, "as before, guest said nothing for 0 s"):
            self.talk.answer()


if __name__ == "__main__":
    unittest.main()
