/**
 * For Nodes that run the hooks in a thread of their own, which cannot tell in
 * time whether a file carries a map. Loaded after the engine, so that its
 * frames keep the names it knows itself by.
 */
process.setSourceMapsEnabled(true)
