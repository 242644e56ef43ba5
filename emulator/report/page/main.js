// Starts what the page has.
"use strict";

document.documentElement.classList.add("scripted");
