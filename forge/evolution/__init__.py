"""How skills change: by lessons that agree, a test on what came after them, and the PM's word on exactly one patch."""
