package pipe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that a child may write, in bytes: 1 MiB, and room for base64.
const maxLine = 1<<20 + 1<<19

var errLongLine = fmt.Errorf("wrote a line of more than %d bytes", maxLine)

// eachLine calls do with each line, without its end. It returns when there is no more, nil then, or a line is too long.
func eachLine(from io.Reader, do func([]byte)) error {
	r := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return errLongLine
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil:
			line = line[:len(line)-1]
		case len(line) == 0:
			return nil
		}
		do(line)
		if err != nil {
			return nil //nolint:nilerr // the end of the pipe, or of our patience: there is no more
		}
		line = line[:0]
	}
}
