package interrupt

import "os/exec"

// inTemp sets where cmd and its children make temporary files.
func inTemp(cmd *exec.Cmd, temp string) {
	if temp == "" {
		return
	}
	cmd.Env = cmd.Environ()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP", "GOTMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+temp)
	}
}
